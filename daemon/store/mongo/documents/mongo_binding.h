// A counter's binding as MongoDB sees it: which document it is, whether there can be such a
// document, and what it says. Functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/store/counter_value.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

// CONFIG when a document cannot have such a collection, key or field.
Status check_mongo_binding(const CounterBinding& binding);

// Host, collection and document, for people.
std::string place_of(const MongoClients& clients, const CounterBinding& binding);

Document key_filter(const CounterBinding& binding);

// The key as a number; nothing when it is none.
std::optional<std::int64_t> integer_key(const CounterBinding& binding);

// STORE_REFUSED unless the server keeps the key unique, in all of a sharded cluster: a second
// document of one name would be a second counter.
Status check_unique_key(MongoClients& clients, const CounterBinding& binding);

// In place of the number, where a register has the name of the counter: every version refuses to
// lease it, and so does a foreign program's $inc.
inline constexpr char kMongoRegisterMark[] = "register";
bool is_register_mark(const Document& document, const CounterBinding& binding);

// What a counter that seqd created is marked as; unset where there is no mark, or it is that of
// another field of the document. (A mark of seqd 0.1.0 does not say of which field it is.)
Meaning mark_of(const Document& document, const CounterBinding& binding);
// Only a counter that is marked as `meaning` or, where `or_unmarked`, not marked at all.
void require_meaning(Document& filter, const CounterBinding& binding, Meaning meaning,
                     bool or_unmarked);

// Filters on the number, of any type, or only where it is an integer: equal to a value, or not
// below it.
Document number_equal(std::int64_t value);
Document number_at_least(std::int64_t value);
Document integer_at_least(std::int64_t value);

// Where the counter's floor is: a document may hold several counters. And a filter on it, where
// there is one: not above that ID. What is no number is none.
std::string mongo_floor_of(const CounterBinding& binding);
Document floor_at_most(std::int64_t id);

// For a transaction: subtracts 1 from the counter, which conflicts with every other change of its
// document, and adds it again. The filter of the first must be completed, and must require 1 or
// more. (Adding 0 changes nothing: MongoDB then writes nothing, and there is no conflict.)
MongoWrite counter_touch(const CounterBinding& binding);
MongoWrite counter_restored(const CounterBinding& binding);

// For $expr: the field itself, and nothing within an array, is a whole number of any type. A double
// beyond 2^53 is none.
Document whole_number(const std::string& field);

// The number and so many more, as int64: for an update by pipeline.
Document number_plus(const std::string& field, std::int64_t more);

// Makes the counter, where it is still missing.
MongoWrite creation(const CounterBinding& binding, std::int64_t next_id);

struct MongoCounterState {
  Meaning meaning = Meaning::unset;
  CounterNumber number;    // integral, and not below the lowest legal one
  std::int64_t floor = 0;  // as in CounterReading
};

// What a counter's document says; an error says what is wrong with it.
Result<MongoCounterState> state_of(const Document& document, const CounterBinding& binding,
                                   const std::string& where);

// The range of a lease that has added `count` to the counter, and left this number. None: no such
// lease leaves it.
std::optional<LeasedSpan> span_added(const CounterNumber& number, Meaning meaning,
                                     std::int64_t count);

// What the server's newest state says of a counter; linearizable on a replica set.
Result<CounterReading> read_mongo_counter(MongoClients& clients, const CounterBinding& binding);

}  // namespace seqd
