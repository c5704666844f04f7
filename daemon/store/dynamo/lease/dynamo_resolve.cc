#include "daemon/store/dynamo/lease/dynamo_resolve.h"

#include <fmt/format.h>

#include <utility>

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // 1 is the rule; the lease may be applied meanwhile

Resolution failed(Status error) {
  return {.kind = Resolution::Kind::failed, .begin = 0, .end = 0, .error = std::move(error)};
}

Resolution resolved(Resolution::Kind kind, LeasedSpan span = {}, bool parked = false) {
  return {.kind = kind, .begin = span.begin, .end = span.end, .error = {}, .parked = parked};
}

}  // namespace

DynamoResolve::Step DynamoResolve::begin() {
  asks_instance_ = false;
  return dynamo_key_of(request_.binding);
}

DynamoResolve::Step DynamoResolve::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return failed(item.status());
  if (!asks_instance_) return after_counter(*item);
  if (!has_all_records(*item)) return resolved(Resolution::Kind::untraceable);
  return make_void(std::nullopt);
}

DynamoResolve::Step DynamoResolve::after_counter(const std::optional<DynamoItem>& counter) {
  if (++attempts_ > kMostAttempts)
    return failed(
        {ErrorCode::UNAVAILABLE, fmt::format("{}: the record of lease \"{}\" changes at every "
                                             "read; is the state directory in use twice?",
                                             where_, slot_)});
  counter_exists_ = counter.has_value();
  // The counter is missing, and with it its records.
  if (!counter && (request_.high_water > 0 || !request_.binding.create))
    return resolved(Resolution::Kind::untraceable);
  std::optional<LeaseRecord> record;
  if (counter) {
    auto found = record_in(*counter, slot_, where_);
    if (!found.ok()) return failed(found.status());
    record = *found;
  }
  slots_->erase(slot_);
  if (record && record->token == request_.token)
    return record->granted() ? resolved(Resolution::Kind::granted, record->span,
                                        record->state == LeaseRecord::State::parked)
                             : resolved(Resolution::Kind::absent);
  if (record) return make_void(record->token);
  asks_instance_ = true;
  return instance_key(instances_, to_hex(request_.instance));
}

// Where the counter is not there yet, it is made, so that the request finds the token void when it
// arrives after all.
DynamoResolve::Step DynamoResolve::make_void(const std::optional<Token>& newest) const {
  DynamoUpdate update = counter_exists_
                            ? DynamoUpdate(dynamo_key_of(request_.binding))
                            : dynamo_creation(request_.binding, request_.binding.first_id);
  if (counter_exists_) update.require_there(request_.binding.key_field);
  put_record(update, slot_, {.token = request_.token}, newest, wall_ms_);
  return update;
}

DynamoResolve::Step DynamoResolve::after_update(DynamoAnswer answer) {
  switch (answer.kind) {
    case DynamoAnswer::Kind::done:
      return resolved(Resolution::Kind::absent);
    case DynamoAnswer::Kind::mismatch:
      return begin();  // it changed since it was read: most likely the lease was applied just now
    case DynamoAnswer::Kind::refused:
    case DynamoAnswer::Kind::unknown:
      break;
  }
  return failed(std::move(answer.error));
}

}  // namespace seqd
