#include "daemon/store/dynamo/lease/dynamo_return.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/store/dynamo/lease/dynamo_parked.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 10;  // 1 is the rule; others may change the item meanwhile

}  // namespace

DynamoReturn::DynamoReturn(const ReturnRequest& request,
                           const std::shared_ptr<DynamoLeaseSlots>& slots,
                           const DynamoInstances& instances, const std::string& where,
                           std::int64_t wall_ms)
    : request_(request),
      slots_(slots),
      where_(where),
      wall_ms_(wall_ms),
      slot_(slot_of(as_lease(request))),
      resolve_(as_lease(request), slots, instances, where, wall_ms) {}

DynamoReturn::Step DynamoReturn::begin() {
  slots_->erase(slot_);  // another token is about to stand there
  if (request_.give_up) return give_up(given_up_reason(where_));
  return dynamo_key_of(request_.binding);
}

DynamoReturn::Step DynamoReturn::after_read(Result<std::optional<DynamoItem>> item) {
  if (given_up_) return following(resolve_.after_read(std::move(item)));
  if (!item.ok()) return not_known(item.status());
  if (++attempts_ > kMostAttempts)
    return contended_return(
        {ErrorCode::UNAVAILABLE, where_ + ": others changed the counter at every attempt"});
  if (!item->has_value()) return give_up(above_the_counter(where_, 0, request_.end));
  auto record = record_in(**item, slot_, where_);
  if (!record.ok()) return not_known(record.status());
  if (*record && (*record)->token == request_.token)
    return (*record)->granted() ? returned() : kept(given_up_reason(where_));
  // It was swept, or another program wrote the item again as a whole.
  if (!*record) return give_up(record_is_gone(where_));
  auto state = state_of(**item, request_.binding, where_);
  if (!state.ok()) return not_known(state.status());
  const std::int64_t next = next_id_of(state->value, state->meaning);
  // Above a counter that was set back the range would be leased once more.
  if (next < request_.end) return give_up(above_the_counter(where_, next, request_.end));
  if (request_.reuse == Reuse::tail && next > request_.end)
    return give_up(not_the_tail(where_, next, request_));
  if (request_.begin < state->floor)
    return give_up(below_the_floor(where_, state->floor, request_));
  if (request_.reuse == Reuse::parked &&
      count_parked(**item, request_.binding).ranges >= kMostDynamoParked)
    return give_up(
        {ErrorCode::STORE_REFUSED,
         fmt::format("{}: {} ranges are parked in the item already", where_, kMostDynamoParked)});
  return apply(*state, *record);
}

DynamoReturn::Step DynamoReturn::apply(const DynamoCounterState& state,
                                       const std::optional<LeaseRecord>& record) {
  const CounterBinding& binding = request_.binding;
  DynamoUpdate update(dynamo_key_of(binding));
  if (request_.reuse == Reuse::tail) {
    update.require_equal(binding.counter_field,
                         dynamo_number(value_of(request_.end - 1, state.meaning)));
    require_meaning(update, binding, state.meaning, !state.marked);
    update.set(binding.counter_field, dynamo_number(value_of(request_.begin - 1, state.meaning)));
  } else {
    require_above(update, binding, state.meaning, request_.end);
    put_parked(update, request_);
  }
  update.require_at_most_or_missing(dynamo_floor_of(binding), request_.begin);
  put_record(update, slot_,
             {.token = request_.token,
              .state = LeaseRecord::State::granted,
              .span = {request_.begin, request_.end}},
             record ? std::optional(record->token) : std::nullopt, wall_ms_);
  return update;
}

DynamoReturn::Step DynamoReturn::after_update(DynamoAnswer answer) {
  if (given_up_) return following(resolve_.after_update(std::move(answer)));
  switch (answer.kind) {
    case DynamoAnswer::Kind::done:
      return returned();
    case DynamoAnswer::Kind::mismatch:
      return dynamo_key_of(request_.binding);
    case DynamoAnswer::Kind::refused:
    case DynamoAnswer::Kind::unknown:
      break;
  }
  return not_known(std::move(answer.error));
}

DynamoReturn::Step DynamoReturn::give_up(Status why) {
  given_up_ = std::move(why);
  return following(resolve_.begin());
}

DynamoReturn::Step DynamoReturn::following(DynamoResolve::Step step) {
  if (auto* const key = std::get_if<DynamoKey>(&step)) return std::move(*key);
  if (auto* const update = std::get_if<DynamoUpdate>(&step)) return std::move(*update);
  return end_of(std::move(std::get<Resolution>(step)), *given_up_, where_);
}

}  // namespace seqd
