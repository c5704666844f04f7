#include "daemon/store/dynamo/register/dynamo_register_changes.h"

#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/dynamo/lease/dynamo_counter.h"

namespace seqd {
namespace {

DynamoValue stamp_value(const Stamp& stamp) {
  return dynamo_map({{"at", dynamo_number(stamp.at_ms)}, {"by", dynamo_text(stamp.by)}});
}

DynamoValue state_value(NumberState state) {
  return dynamo_text(number_state_word(state));
}

void put_former(DynamoUpdate& update, std::size_t at, const FormerKey& former) {
  update.set("seqd_formers", dynamo_number(static_cast<std::int64_t>(at) + 1))
      .set("seqd_former:" + std::to_string(at),
           dynamo_map({{"key", dynamo_text(former.key)},
                       {"reason", dynamo_text(former.reason)},
                       {"assigned_at", dynamo_number(former.assigned.at_ms)},
                       {"assigned_by", dynamo_text(former.assigned.by)},
                       {"cancelled_at", dynamo_number(former.cancelled.at_ms)},
                       {"cancelled_by", dynamo_text(former.cancelled.by)}}));
}

// Where `next` is the first number of the configuration there may be none yet; another host may
// have begun with a lower one.
void require_next(DynamoUpdate& update, const RegisterPlace& place, std::int64_t next) {
  const DynamoValue before = dynamo_number(next - 1);
  if (next == place.binding.first_id) {
    update.require_equal_or_missing("seqd_highest", before);
  } else {
    update.require_equal("seqd_highest", before);
  }
  update.require_missing("seqd_closed");
}

DynamoUpdate update_of(const DynamoRegisterItems& items, const std::string& item) {
  return DynamoUpdate(items.key(item));
}

}  // namespace

DynamoUpdate mark_name(const DynamoRegisterItems& items) {
  CounterBinding binding = items.place().binding;
  binding.key = dynamo_register_name(items.place());
  const DynamoValue mark = dynamo_text(kDynamoRegisterMark);
  DynamoUpdate update(dynamo_key_of(binding));
  update.require_equal_or_missing(binding.counter_field, mark).set(binding.counter_field, mark);
  return update;
}

DynamoUpdate raise_highest(const DynamoRegisterItems& items, std::int64_t first,
                           std::int64_t last) {
  DynamoUpdate update = update_of(items, items.period_key());
  require_next(update, items.place(), first);
  update.set("seqd_highest", dynamo_number(last));
  if (first == items.place().binding.first_id) update.set_first("seqd_first", dynamo_number(first));
  return update;
}

DynamoUpdate close_period(const DynamoRegisterItems& items, const RegisterChange& close) {
  DynamoUpdate update = update_of(items, items.period_key());
  require_next(update, items.place(), close.number);
  update.set("seqd_closed", stamp_value(close.stamp));
  return update;
}

DynamoUpdate close_free(const DynamoRegisterItems& items, const RegisterChange& close) {
  DynamoUpdate update = update_of(items, items.free_key());
  update.set("seqd_closed", stamp_value(close.stamp));
  return update;
}

DynamoUpdate change_free(const DynamoRegisterItems& items, const std::set<std::int64_t>& put_in,
                         const std::set<std::int64_t>& take_out) {
  ASSERT(put_in.empty() != take_out.empty());
  DynamoUpdate update = update_of(items, items.free_key());
  update.require_missing("seqd_closed");
  if (!put_in.empty()) update.put_in("seqd_free", dynamo_numbers(put_in));
  if (!take_out.empty()) update.take_out("seqd_free", dynamo_numbers(take_out));
  return update;
}

DynamoUpdate give_key(const DynamoRegisterItems& items, const RegisterChange& change) {
  DynamoUpdate update = update_of(items, items.key_key(change.key));
  update.require_missing("seqd_number")
      .set("seqd_number", dynamo_number(change.number))
      .set("seqd_period", dynamo_text(items.place().period));
  return update;
}

// The item stays, as seqd needs no right to delete one.
DynamoUpdate take_key(const DynamoRegisterItems& items, const RegisterChange& cancel) {
  DynamoUpdate update = update_of(items, items.key_key(cancel.key));
  update.require_equal("seqd_number", dynamo_number(cancel.number))
      .require_equal("seqd_period", dynamo_text(items.place().period))
      .remove("seqd_number")
      .remove("seqd_period");
  return update;
}

// Without a key it is as a number that was cancelled for an empty one.
DynamoUpdate add_number(const DynamoRegisterItems& items, const RegisterChange& add) {
  const bool is_void = add.key.empty();
  DynamoUpdate update = update_of(items, items.number_key(add.number));
  update.require_missing(items.place().binding.key_field)
      .set("seqd_state", state_value(is_void ? NumberState::voided : NumberState::assigned))
      .set("seqd_text", dynamo_text(add.text))
      .set("seqd_assigned", stamp_value(add.stamp));
  if (is_void) {
    put_former(update, 0, {"", add.stamp, add.stamp, add.reason});
  } else {
    update.set("seqd_key", dynamo_text(add.key)).set("seqd_formers", dynamo_number(0));
  }
  return update;
}

DynamoUpdate refill_number(const DynamoRegisterItems& items, const RegisterChange& refill) {
  DynamoUpdate update = update_of(items, items.number_key(refill.number));
  update.require_equal("seqd_state", state_value(NumberState::free))
      .require_equal("seqd_formers", dynamo_number(static_cast<std::int64_t>(refill.former)))
      .require_not_in("seqd_had", dynamo_text(refill.key))
      .set("seqd_state", state_value(NumberState::assigned))
      .set("seqd_key", dynamo_text(refill.key))
      .set("seqd_assigned", stamp_value(refill.stamp));
  return update;
}

DynamoUpdate confirm_number(const DynamoRegisterItems& items, const RegisterChange& confirm) {
  DynamoUpdate update = update_of(items, items.number_key(confirm.number));
  update.require_equal("seqd_state", state_value(NumberState::assigned))
      .require_equal("seqd_key", dynamo_text(confirm.key))
      .set("seqd_state", state_value(NumberState::confirmed))
      .set("seqd_confirmed", stamp_value(confirm.stamp));
  return update;
}

DynamoUpdate cancel_number(const DynamoRegisterItems& items, const RegisterChange& cancel,
                           const NumberRecord& record) {
  DynamoUpdate update = update_of(items, items.number_key(cancel.number));
  const std::size_t formers = record.former.size();
  update.require_equal("seqd_state", state_value(NumberState::assigned))
      .require_equal("seqd_key", dynamo_text(cancel.key))
      .require_equal("seqd_formers", dynamo_number(static_cast<std::int64_t>(formers)))
      .set("seqd_state", state_value(cancel.free ? NumberState::free : NumberState::voided))
      .remove("seqd_key")
      .put_in("seqd_had", dynamo_texts({cancel.key}));
  put_former(update, formers, {cancel.key, record.assigned, cancel.stamp, cancel.reason});
  return update;
}

}  // namespace seqd
