// MongoCounter: attempts that leave a record.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/driver/mongo_numbered_writes.h"
#include "daemon/store/mongo/lease/mongo_counter.h"
#include "daemon/store/mongo/lease/mongo_parked.h"

namespace seqd {
namespace {

// A record with this number was changed by hand.
constexpr std::int32_t kLastStatement = std::numeric_limits<std::int32_t>::max();

}  // namespace

// Number and record change in one step.
MongoCounter::Step MongoCounter::increment_with_slot(MongoWrite write) {
  if (request_.take_parked) {
    if (Step taken = take_parked_slot(); taken.has_value()) return taken;
  }
  const bool is_first = !records_.newest(request_).has_value();
  records_.add_record(request_, meaning_, count_, write);
  Step ended = conclude(clients_.find_and_modify(write));
  if (!ended || ended->kind != LeaseOutcome::Kind::granted) return ended;
  records_.learn(request_, LeaseRecord{.token = request_.token,
                                       .state = LeaseRecord::State::granted,
                                       .span = {ended->begin, ended->end}});
  if (is_first) sweep_.slots_became_more(request_);
  return ended;
}

void MongoCounter::require_above(Document& filter, LeasedSpan parked) const {
  const std::int64_t above = std::max(parked.end, request_.high_water);
  filter.add(binding_.counter_field, number_at_least(value_of(above - 1, meaning_)));
  require_meaning(filter, binding_, meaning_, binding_.meaning != Meaning::unset);
}

MongoWrite MongoCounter::counter_check(LeasedSpan parked) const {
  MongoWrite write = counter_touch(binding_);
  require_above(write.filter, parked);
  return write;
}

// The range leaves the field where it is parked, and the record has it, in one step.
MongoCounter::Step MongoCounter::take_parked_slot() {
  auto read = clients_.read(binding_.collection, key_filter(binding_));
  if (!read.ok()) return refused(read.status());
  const std::optional<ParkedField> parked =
      read->has_value() ? lowest_parked_field(**read, binding_) : std::nullopt;
  if (!parked) return std::nullopt;
  auto state = state_of(**read, binding_, where_);
  if (!state.ok()) return refused(state.status());
  meaning_ = state->meaning;
  const std::int64_t next = next_id_of(state->number.value, meaning_);
  if (next < parked->span.end) return refused(above_the_counter(where_, next, parked->span.end));
  const LeaseRecord record{
      .token = request_.token, .state = LeaseRecord::State::parked, .span = parked->span};
  MongoWrite write = records_.replacement(request_, record);
  write.update.add("$unset", Document().add(parked->field, true));
  write.filter.add(parked->field + ".begin", parked->span.begin);
  require_above(write.filter, parked->span);
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  open_ = open_ || answer.is_open;
  if (answer.kind != MongoWriteAnswer::Kind::done) return conclude(std::move(answer));
  if (!answer.document) return std::nullopt;
  records_.learn(request_, record);
  return granted_parked(parked->span);
}

// The statements of the transaction, in this order:
//
//   new IDs         the counter is moved; the record
//   a parked range  its document is removed; the counter is checked and restored; the record
//
// Only the commit applies them; a failure before it is sent leaves no change.
MongoCounter::Step MongoCounter::increment_in_transaction(const MongoWrite& write) {
  ASSERT(is_in_ledger(trace_));
  // That one was sent as a numbered write, whose record would be replaced.
  if (open_) return unknown_while_open();
  MongoTransaction transaction(clients_);
  if (Status status = transaction.begin(); !status.ok()) return refused(std::move(status));
  if (Status status = sessions_.announce(request_.instance, transaction); !status.ok())
    return refused(std::move(status));
  std::optional<LeasedSpan> parked;
  if (request_.take_parked) {
    MongoWriteAnswer taken = sessions_.run(transaction, unparking(binding_));
    if (taken.kind != MongoWriteAnswer::Kind::done) return conclude(std::move(taken));
    if (taken.document) parked = parked_span(*taken.document);
    parked_end_ = parked ? parked->end : 0;
  }
  MongoWriteAnswer counted = parked ? sessions_.run(transaction, counter_check(*parked))
                                    : sessions_.run(transaction, write);
  if (parked && counted.kind == MongoWriteAnswer::Kind::done && counted.document)
    counted = sessions_.run(transaction, counter_restored(binding_));
  if (counted.kind != MongoWriteAnswer::Kind::done || !counted.document)
    return conclude(std::move(counted));
  LeaseOutcome outcome = parked ? granted_parked(*parked) : grant(*counted.document);
  if (outcome.kind != LeaseOutcome::Kind::granted) return refused(std::move(outcome.error));
  const LeaseRecord record{
      .token = request_.token,
      .state = outcome.parked ? LeaseRecord::State::parked : LeaseRecord::State::granted,
      .span = {outcome.begin, outcome.end}};
  const bool is_first = !records_.newest(request_).has_value();
  MongoWriteAnswer recorded = sessions_.run(transaction, records_.replacement(request_, record));
  if (recorded.server_code == kMongoDuplicateKey ||
      (recorded.kind == MongoWriteAnswer::Kind::done && !recorded.document)) {
    return std::nullopt;  // the lease slot's record holds another token
  }
  if (recorded.kind != MongoWriteAnswer::Kind::done) return conclude(std::move(recorded));
  MongoWriteAnswer committed = sessions_.commit(transaction, binding_.collection, deadline_);
  if (committed.kind != MongoWriteAnswer::Kind::done) return conclude(std::move(committed));
  records_.learn(request_, record);
  if (is_first) sweep_.ledger_became_more();
  return outcome;
}

// Announced first, as a statement of the same number: by it a look-up knows that the server still
// remembers the number. The lease leaves only after a majority has the announcement, so there is no
// lease without one, whichever server is the primary. A parked range is in another document, and
// that takes a transaction.
MongoCounter::Step MongoCounter::increment_as_numbered(const MongoWrite& write) {
  if (request_.take_parked) {
    const auto parked = count_parked(clients_, binding_, trace_);
    if (!parked.ok()) return refused(parked.status());
    if (parked->ranges > 0) return increment_in_transaction(write);
  }
  if (!records_.newest(request_)) {
    // A request that was sent with this token before, perhaps for fewer IDs, is repeated unchanged.
    const auto record = records_.read_ledger(request_);
    if (!record.ok()) return refused(record.status());
    if (Step ended = compare(*record); ended.has_value()) return ended;
  }
  // One number is for one count: by it the answer of a repeat is read.
  if (sent_ && (sent_->count != count_ || sent_->statement == kLastStatement))
    return increment_in_transaction(write);
  MongoNumberedWrites writes(clients_, request_);
  if (!sent_ || sent_->meaning != meaning_) {
    const LeaseRecord::Sent sent{
        .count = count_, .meaning = meaning_, .statement = sent_ ? sent_->statement + 1 : 1};
    const bool is_first = !records_.newest(request_).has_value();
    const LeaseRecord record{
        .token = request_.token, .state = LeaseRecord::State::sent, .sent = sent};
    const Result<bool> announced =
        writes.update(records_.replacement(request_, record), sent.statement);
    // The lease was not sent behind it.
    if (!announced.ok()) return refused(announced.status());
    if (!*announced) return std::nullopt;  // the lease slot's record holds another token
    sent_ = sent;
    records_.learn(request_, record);
    if (is_first) sweep_.ledger_became_more();
  }
  return conclude(writes.find_and_modify(write));
}

// The request was delivered before: the same write, which is applied once as long as the server
// remembers its number.
MongoCounter::Step MongoCounter::send_again(const LeaseRecord::Sent& sent) {
  MongoNumberedWrites writes(clients_, request_);
  const Result<bool> remembered = writes.remembers(kMongoLedger, sent.statement);
  if (!remembered.ok()) return unknown_outcome(remembered.status());
  if (!*remembered)
    return unknown_outcome({ErrorCode::UNAVAILABLE,
                            fmt::format("{}: the server does not remember the session of lease {}",
                                        where_, to_hex(request_.token))});
  sent_ = sent;
  count_ = sent.count;
  meaning_ = sent.meaning;
  return conclude(writes.find_and_modify(counter_write()));
}

}  // namespace seqd
