#include "daemon/store/dynamo/lease/dynamo_lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/store/dynamo/lease/dynamo_parked.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 8;  // 1 or 2 are the rule; others may change the item meanwhile

}  // namespace

DynamoLease::DynamoLease(const LeaseRequest& request, std::shared_ptr<DynamoLeaseSlots> slots,
                         DynamoInstances instances, std::string where, std::int64_t wall_ms)
    : request_(request),
      slots_(std::move(slots)),
      instances_(std::move(instances)),
      where_(std::move(where)),
      wall_ms_(wall_ms),
      slot_(slot_of(request)),
      traced_(trace_of(request.token) == LeaseTrace::slot),
      meaning_(meaning_of_new(request.binding)),
      count_(std::min(request.count, highest_id(request))) {}

std::optional<Token> DynamoLease::newest() const {
  const auto found = slots_->find(slot_);
  return found == slots_->end() ? std::nullopt : std::optional(found->second.newest);
}

// Without a look, where the lease slot is known and nothing else can be wanted of the item.
DynamoLease::Step DynamoLease::begin() {
  const auto known = slots_->find(slot_);
  const Meaning configured = request_.binding.meaning;
  const bool blind = traced_ && !request_.take_parked && known != slots_->end() &&
                     known->second.newest != request_.token &&
                     known->second.meaning != Meaning::unset &&
                     (configured == Meaning::unset || configured == known->second.meaning);
  if (!blind) return dynamo_key_of(request_.binding);
  meaning_ = known->second.meaning;
  floor_ = known->second.floor;
  return increment();
}

DynamoLease::Step DynamoLease::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return refused(item.status());
  if (++attempts_ > kMostAttempts)
    return contended(
        {ErrorCode::UNAVAILABLE,
         where_ + ": others changed the counter at every attempt; the request is repeated"});
  if (!item->has_value()) return create();
  const DynamoItem& found = **item;
  if (traced_) {
    auto record = record_in(found, slot_, where_);
    if (!record.ok()) return refused(record.status());
    if (*record && (*record)->token == request_.token) {
      learn(request_.token);
      // Otherwise the request was delivered before.
      if ((*record)->state == LeaseRecord::State::parked) return granted_parked((*record)->span);
      if ((*record)->state == LeaseRecord::State::granted) return granted((*record)->span);
      return refused(
          {ErrorCode::STORE_REFUSED, fmt::format("{}: lease {} was made void before it arrived",
                                                 where_, to_hex(request_.token))});
    }
    slots_->erase(slot_);
    if (*record) learn((*record)->token);
  }
  auto state = state_of(found, request_.binding, where_);
  if (!state.ok()) return refused(state.status());
  meaning_ = state->meaning;
  floor_ = state->floor;
  if (const auto known = slots_->find(slot_); known != slots_->end()) {
    known->second.meaning = meaning_;
    known->second.floor = floor_;
  }
  const std::int64_t last = last_issued_of(state->value, meaning_);
  if (Status set_back = check_not_below_floor(last, floor_, request_, where_); !set_back.ok())
    return refused(std::move(set_back));
  if (traced_ && request_.take_parked && lowest_parked(found, request_.binding))
    return take_parked(found, next_id_of(state->value, meaning_));
  auto span = span_after(last, request_, where_);
  if (!span.ok()) return refused(span.status());
  count_ = span->end - span->begin;
  return sweep_or(found);
}

// A record is added: the records that are no longer needed are removed, after their instances were
// marked.
DynamoLease::Step DynamoLease::sweep_or(const DynamoItem& item) {
  outdated_.clear();
  if (traced_ && !newest()) outdated_ = outdated_slots(item, slot_, wall_ms_);
  for (const std::string& slot : outdated_) {
    if (!swept_.insert(slot).second) continue;
    phase_ = Phase::sweeping;
    return note_swept(instances_, instance_of_slot(slot), wall_ms_);
  }
  return increment();
}

DynamoLease::Step DynamoLease::create() {
  if (request_.high_water > 0) return refused(missing_counter(request_, where_));
  if (!request_.binding.create) return refused(creation_not_allowed(where_));
  slots_->erase(slot_);
  phase_ = Phase::creating;
  return dynamo_creation(request_.binding, request_.binding.first_id);
}

// The lease itself: number and record change in one step, or neither.
DynamoLease::Step DynamoLease::increment() {
  const CounterBinding& binding = request_.binding;
  const std::int64_t first = std::max(request_.high_water, floor_);
  const std::int64_t lowest =
      std::max(lowest_value(meaning_), first > 0 ? value_of(first - 1, meaning_) : 0);
  const std::int64_t highest = value_of(highest_id(request_) - count_, meaning_);
  DynamoUpdate update(dynamo_key_of(binding));
  update.require_between(binding.counter_field, lowest, highest)
      .set_sum(binding.counter_field, binding.counter_field, count_);
  require_meaning(update, binding, meaning_, binding.meaning != Meaning::unset);
  // Otherwise the counter may be below another one, and is read.
  update.require_equal_or_missing(dynamo_floor_of(binding), dynamo_number(floor_));
  if (traced_) {
    // From the number before the update to the first ID that is not in the lease.
    const std::int64_t more = count_ + (meaning_ == Meaning::next ? 0 : 1);
    put_lease(update, slot_, request_.token, count_, binding.counter_field, more, newest(),
              wall_ms_);
    for (const std::string& slot : outdated_) remove_record(update, slot);
  }
  phase_ = Phase::leasing;
  return update;
}

// Out of the item and into the record in one step.
DynamoLease::Step DynamoLease::take_parked(const DynamoItem& item, std::int64_t next) {
  const DynamoParked parked = *lowest_parked(item, request_.binding);
  if (next < parked.span.end) return refused(above_the_counter(where_, next, parked.span.end));
  DynamoUpdate update(dynamo_key_of(request_.binding));
  const std::int64_t above = std::max(parked.span.end, request_.high_water);
  require_above(update, request_.binding, meaning_, above);
  update.require_there(parked.name).remove(parked.name);
  put_record(update, slot_,
             {.token = request_.token, .state = LeaseRecord::State::parked, .span = parked.span},
             newest(), wall_ms_);
  parked_ = parked.span;
  phase_ = Phase::taking_parked;
  return update;
}

DynamoLease::Step DynamoLease::after_update(DynamoAnswer answer) {
  using Kind = DynamoAnswer::Kind;
  const bool is_lease = phase_ == Phase::leasing || phase_ == Phase::taking_parked;
  if (answer.kind == Kind::unknown && is_lease) {
    slots_->erase(slot_);
    return unknown_outcome(std::move(answer.error));
  }
  // Unknown of the others is as good as refused: nothing was leased.
  if (answer.kind == Kind::refused || answer.kind == Kind::unknown)
    return refused(std::move(answer.error));
  if (answer.kind == Kind::mismatch || !is_lease) return dynamo_key_of(request_.binding);
  if (phase_ == Phase::leasing) return grant(answer.item.value_or(DynamoItem()));
  learn(request_.token);
  return granted_parked(parked_);
}

LeaseOutcome DynamoLease::grant(const DynamoItem& changed) {
  const auto found = changed.find(request_.binding.counter_field);
  const std::optional<std::int64_t> value =
      found == changed.end() ? std::nullopt : dynamo_integer(found->second);
  if (!value || *value < count_ || last_issued_of(*value, meaning_) == INT64_MAX)
    return unknown_outcome(
        {ErrorCode::SEQ_TYPE,
         fmt::format("{}: after adding {} the service returned {}", where_, count_,
                     found == changed.end() ? "nothing" : found->second.text.substr(0, 60))});
  const std::int64_t end = last_issued_of(*value, meaning_) + 1;
  const LeasedSpan span{end - count_, end};
  if (span.begin < std::max<std::int64_t>(1, request_.high_water) ||
      span.end - 1 > highest_id(request_))
    return unknown_outcome(
        {ErrorCode::SEQ_REGRESSED,
         fmt::format(
             "{}: the service returned the range {} .. {}, which its own condition excludes",
             where_, span.begin, span.end - 1)});
  if (traced_) learn(request_.token);
  return granted(span);
}

}  // namespace seqd
