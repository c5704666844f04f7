// A counter's binding as DynamoDB sees it: which item it is, and what it says. Functions; any
// thread.
#pragma once

#include <string>

#include "daemon/store/counter_value.h"
#include "daemon/store/dynamo/dynamo_names.h"
#include "daemon/store/dynamo/wire/dynamo_wire.h"

namespace seqd {

// Beside the number: what it means, and its floor. An item may hold several numbers, so each has
// its own.
std::string dynamo_meaning_of(const CounterBinding& binding);
std::string dynamo_floor_of(const CounterBinding& binding);

// The number of a counter whose name a register has: every version refuses to lease it.
inline constexpr char kDynamoRegisterMark[] = "register";

DynamoKey dynamo_key_of(const CounterBinding& binding);

// The condition that the item is marked as `meaning` or, where `or_unmarked`, not marked at all.
void require_meaning(DynamoUpdate& update, const CounterBinding& binding, Meaning meaning,
                     bool or_unmarked);

// Makes the counter, where there is no item yet.
DynamoUpdate dynamo_creation(const CounterBinding& binding, std::int64_t next_id);

struct DynamoCounterState {
  Meaning meaning = Meaning::unset;
  bool marked = false;
  std::int64_t value = 0;  // not below the lowest legal one
  std::int64_t floor = 0;  // as in CounterReading
};

// What a counter's item says; an error says what is wrong with it.
Result<DynamoCounterState> state_of(const DynamoItem& item, const CounterBinding& binding,
                                    const std::string& where);

}  // namespace seqd
