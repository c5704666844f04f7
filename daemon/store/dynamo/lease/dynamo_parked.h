// Ranges that were returned for others, in the counter's item: seqd_returned:TOKEN, a map of
// begin, end and the attribute of the number, since an item may hold the numbers of several
// counters. A range is there once, and is taken out by the lease that it is granted to, in one
// step with that lease's record (dynamo_records.h). Functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/dynamo/lease/dynamo_counter.h"

namespace seqd {

struct DynamoParked {
  std::string name;  // of its attribute
  LeasedSpan span;
};

std::optional<DynamoParked> lowest_parked(const DynamoItem& item, const CounterBinding& binding);
CounterReading::Parked count_parked(const DynamoItem& item, const CounterBinding& binding);
// The names of those that begin below `floor`.
std::vector<std::string> parked_below(const DynamoItem& item, const CounterBinding& binding,
                                      std::int64_t floor);
// What one item has room for.
inline constexpr std::int64_t kMostDynamoParked = 200;

void put_parked(DynamoUpdate& update, const ReturnRequest& request);

// The condition that the counter stands above a range that ends at `end`.
void require_above(DynamoUpdate& update, const CounterBinding& binding, Meaning meaning,
                   std::int64_t end);

}  // namespace seqd
