// Where MongoDB keeps ranges that were returned for others: `session`, documents of seqd_returned;
// `slot`, fields of the counter's document. A range is there once, and is removed by the lease that
// receives it, in one step with that lease's record (mongo_lease_records.h): so that record shows
// whether a return or a lease was applied, and nothing depends on what is kept here.
//
// Invariant: a range names its counter: collection, key and its type, the field of the key and that
// of the number. A range without all of these is never granted. Functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "daemon/store/counter_value.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

inline constexpr char kMongoReturned[] = "seqd_returned";

// Before the first transaction that writes to it.
Status make_returned_collection(MongoClients& clients);

// A document more; an error with code 11000 where a range with that beginning is parked already.
MongoWrite parking(const ReturnRequest& request);
// Removes the lowest of the counter; answers with it, or with nothing.
MongoWrite unparking(const CounterBinding& binding);
LeasedSpan parked_span(const Document& document);
// Removes all of the counter's that begin below `floor`, wherever they are.
Status drop_parked(MongoClients& clients, const CounterBinding& binding, std::int64_t floor);
// What is parked of the counter where leases of that mode look for it.
Result<CounterReading::Parked> count_parked(MongoClients& clients, const CounterBinding& binding,
                                            LeaseTrace trace);

// A range that is parked in the counter's document.
struct ParkedField {
  std::string field;  // its name, a path
  LeasedSpan span;
};
std::string parked_field_name(const Token& token);
Document parked_field_value(const ReturnRequest& request);
// Of the counter, in its document, which may hold the numbers of others, too.
std::optional<ParkedField> lowest_parked_field(const Document& document,
                                               const CounterBinding& binding);
std::size_t parked_fields(const Document& document, const CounterBinding& binding);
// In slot mode: what a counter's document has room for.
inline constexpr std::size_t kMostParkedFields = 200;

}  // namespace seqd
