#include "daemon/store/dynamo/lease/dynamo_forget.h"

#include <utility>

#include "daemon/store/dynamo/lease/dynamo_counter.h"

namespace seqd {

std::string DynamoForget::slot() const {
  LeaseRequest lease;
  lease.instance = request_.instance;
  lease.sequence = request_.slots[at_].sequence;
  return slot_of(lease);
}

DynamoForget::Step DynamoForget::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return Result<InstanceRecords>(item.status());
  if (phase_ == Phase::looking) {
    found_.entry = is_claimed(*item);
    if (!found_.entry || request_.only_look) return next();
    // Before the first record is removed: from then on a missing record proves nothing.
    phase_ = Phase::marking;
    return note_swept(instances_, to_hex(request_.instance), wall_ms_);
  }
  const std::string name = slot();
  const CounterBinding& binding = request_.slots[at_].binding;
  const bool there = item->has_value() && has_record(**item, name);
  if (!there || request_.only_look) {
    found_.records += there ? 1 : 0;
    ++at_;
    return next();
  }
  DynamoUpdate update(dynamo_key_of(binding));
  update.require_there(binding.key_field);
  remove_record(update, name);
  return update;
}

DynamoForget::Step DynamoForget::after_update(DynamoAnswer answer) {
  if (answer.kind == DynamoAnswer::Kind::refused || answer.kind == DynamoAnswer::Kind::unknown)
    return Result<InstanceRecords>(std::move(answer.error));
  if (phase_ == Phase::ending) return Result<InstanceRecords>(found_);
  if (phase_ == Phase::slots) {
    found_.records += answer.kind == DynamoAnswer::Kind::done ? 1 : 0;
    slots_->erase(slot());
    ++at_;
  }
  return next();
}

DynamoForget::Step DynamoForget::next() {
  phase_ = Phase::slots;
  // A binding that no item can have was never leased from.
  while (at_ < request_.slots.size() && !check_dynamo_binding(request_.slots[at_].binding).ok())
    ++at_;
  if (at_ < request_.slots.size()) return dynamo_key_of(request_.slots[at_].binding);
  return end();
}

DynamoForget::Step DynamoForget::end() {
  if (!request_.entry || request_.only_look || !found_.entry)
    return Result<InstanceRecords>(found_);
  phase_ = Phase::ending;
  return without_claim(instances_, to_hex(request_.instance));
}

}  // namespace seqd
