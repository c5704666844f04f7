#include "daemon/store/dynamo/lease/dynamo_views.h"

#include <algorithm>
#include <utility>

#include "daemon/store/dynamo/lease/dynamo_parked.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // 1 is the rule; others may make or delete the item

}  // namespace

DynamoReading::Step DynamoReading::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return Result<CounterReading>(item.status());
  CounterReading reading;
  if (!item->has_value()) return Result<CounterReading>(reading);
  auto state = state_of(**item, binding_, where_);
  if (!state.ok()) return Result<CounterReading>(state.status());
  reading.exists = true;
  reading.meaning = state->meaning;
  reading.next_id = next_id_of(state->value, state->meaning);
  reading.floor = state->floor;
  reading.parked = count_parked(**item, binding_);
  return Result<CounterReading>(reading);
}

DynamoAdvance::Step DynamoAdvance::after_read(Result<std::optional<DynamoItem>> item) {
  using Answer = Result<std::int64_t>;
  if (!item.ok()) return Answer(item.status());
  if (++attempts_ > kMostAttempts)
    return Answer(Status(ErrorCode::UNAVAILABLE,
                         where_ + ": others changed the counter at every attempt; try again"));
  if (!item->has_value()) return dynamo_creation(request_.binding, request_.next_id);
  auto state = state_of(**item, request_.binding, where_);
  if (!state.ok()) return Answer(state.status());
  const std::int64_t next = next_id_of(state->value, state->meaning);
  if (!floor_is_set_)
    wanted_ = std::max({request_.next_id, state->floor, request_.withdraw ? next : 0});
  const std::vector<std::string> parked = request_.withdraw
                                              ? parked_below(**item, request_.binding, wanted_)
                                              : std::vector<std::string>();
  floor_is_set_ = !request_.withdraw || state->floor >= wanted_;
  if (next >= wanted_ && floor_is_set_ && parked.empty()) return Answer(next);
  return raise(*state, parked);
}

// If the number is still lower, it is raised; otherwise it stays as it is, unless a return has
// lowered it since, and then it is read again.
DynamoUpdate DynamoAdvance::raise(const DynamoCounterState& state,
                                  const std::vector<std::string>& parked) const {
  const CounterBinding& binding = request_.binding;
  const std::int64_t raised = value_of(wanted_ - 1, state.meaning);
  DynamoUpdate update(dynamo_key_of(binding));
  if (state.value < raised) {
    update.require_between(binding.counter_field, lowest_value(state.meaning), raised)
        .set(binding.counter_field, dynamo_number(raised));
    require_meaning(update, binding, state.meaning, !state.marked);
  } else {
    require_above(update, binding, state.meaning, wanted_);
  }
  if (!floor_is_set_)
    update.require_at_most_or_missing(dynamo_floor_of(binding), wanted_)
        .set(dynamo_floor_of(binding), dynamo_number(wanted_));
  for (const std::string& name : parked) update.remove(name);
  return update;
}

DynamoAdvance::Step DynamoAdvance::after_update(DynamoAnswer answer) {
  // Applied, or changed by another host: the item has the present number.
  if (answer.kind == DynamoAnswer::Kind::done || answer.kind == DynamoAnswer::Kind::mismatch)
    return begin();
  return Result<std::int64_t>(std::move(answer.error));
}

}  // namespace seqd
