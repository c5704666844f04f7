#include "daemon/store/mongo/lease/mongo_counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/driver/mongo_numbered_writes.h"
#include "daemon/store/mongo/driver/mongo_trace.h"
#include "daemon/store/mongo/lease/mongo_parked.h"

namespace seqd {
namespace {

// A record that says so was changed by hand.
constexpr std::int32_t kLastStatement = std::numeric_limits<std::int32_t>::max();

constexpr int kMostAttempts = 20;  // steps of one lease; 1 or 3 are the rule
constexpr int kMostFailures = 2;

}  // namespace

MongoCounter::MongoCounter(MongoClients& clients, MongoLeaseRecords& records,
                           MongoSessions& sessions, MongoLeaseSweep& sweep,
                           const LeaseRequest& request)
    : clients_(clients),
      records_(records),
      sessions_(sessions),
      sweep_(sweep),
      request_(request),
      binding_(request.binding),
      trace_(trace_of(request.token)),
      where_(place_of(clients, request.binding)),
      deadline_(std::chrono::steady_clock::now() +
                2 * std::chrono::milliseconds(clients.target().timeout_ms)),
      meaning_(meaning_of_new(binding_)),
      count_(std::min(request.count, highest_id(request))) {}

LeaseOutcome MongoCounter::lease(bool index_known) {
  if (!index_known) {
    if (Status status = check_unique_key(clients_, binding_); !status.ok())
      return refused(std::move(status));
  }
  if (trace_ != LeaseTrace::plain && records_.newest(request_) == request_.token) {
    if (Step ended = diagnose(); ended.has_value()) return std::move(*ended);
  }
  int attempts = 0;
  while (attempts < kMostAttempts && (attempts == 0 || !late())) {
    if (Step ended = increment(); ended.has_value()) return std::move(*ended);
    if (conflict_) {
      // A transaction of our own that was left open would conflict until the server drops it.
      sessions_.end_suspects();
      // After another failure it may be that transaction: the store does not work as it should.
      return failures_ == 0 ? contended(std::move(*conflict_)) : refused(std::move(*conflict_));
    }
    if (std::exchange(retrying_, false)) continue;
    ++attempts;
    if (Step ended = diagnose(); ended.has_value()) return std::move(*ended);
  }
  Status why(ErrorCode::UNAVAILABLE,
             fmt::format("{}: others changed the counter at every attempt, or the server is slow",
                         where_));
  return late() ? refused(std::move(why)) : contended(std::move(why));
}

MongoWrite MongoCounter::counter_write() const {
  const std::int64_t lowest =
      std::max(lowest_value(meaning_),
               request_.high_water > 0 ? value_of(request_.high_water - 1, meaning_) : 0);
  const std::int64_t highest = value_of(highest_id(request_) - count_, meaning_);
  MongoWrite write;
  write.collection = binding_.collection;
  write.filter = key_filter(binding_);
  Document bounds = doubles_ ? number_at_least(lowest) : integer_at_least(lowest);
  write.filter.add(binding_.counter_field, bounds.add("$lte", highest));
  require_meaning(write.filter, binding_, meaning_, binding_.meaning != Meaning::unset);
  if (doubles_ && trace_ != LeaseTrace::slot) {  // a slot is written so in any case
    write.filter.add("$expr", whole_number(binding_.counter_field));
    const Document sum = std::move(
        Document().add(binding_.counter_field, number_plus(binding_.counter_field, count_)));
    write.update.add("0", Document().add("$set", sum));
  } else {
    write.update.add("$inc", Document().add(binding_.counter_field, count_));
  }
  write.returned_field = binding_.counter_field;
  return write;
}

// The lease itself. Nothing is returned when nothing matched: then the document says why.
MongoCounter::Step MongoCounter::increment() {
  conflict_.reset();  // of an earlier attempt; this one says whether it still conflicts
  MongoWrite write = counter_write();
  switch (trace_) {
    case LeaseTrace::plain:
      return conclude(clients_.find_and_modify(write));
    case LeaseTrace::slot:
      return increment_with_slot(std::move(write));
    case LeaseTrace::session:
      return increment_as_numbered(write);
    case LeaseTrace::ledger:
      break;
  }
  return increment_in_transaction(write);
}

MongoCounter::Step MongoCounter::conclude(MongoWriteAnswer answer) {
  switch (answer.kind) {
    case MongoWriteAnswer::Kind::unknown:
      return unknown_outcome(std::move(answer.error));
    case MongoWriteAnswer::Kind::refused:
      // An array of integers passes the filter and is refused by $inc: reading the document gives a
      // better error.
      if (answer.server_code == kMongoTypeMismatch) return std::nullopt;
      if (answer.again) return retry(std::move(answer));
      if (answer.server_code == kMongoValidationFailure) return refuse_by_validator(answer.error);
      return refused(std::move(answer.error));
    case MongoWriteAnswer::Kind::done:
      break;
  }
  if (answer.document) return grant(*answer.document);
  // The earlier attempt may find the counter once it is made, and no record would tell of it.
  if (trace_ == LeaseTrace::plain && answer.earlier_is_open) {
    return unknown_outcome({ErrorCode::UNAVAILABLE,
                            where_ + ": an attempt that was not answered may still be applied"});
  }
  return std::nullopt;
}

// Number and slot change in one step.
MongoCounter::Step MongoCounter::increment_with_slot(MongoWrite write) {
  if (request_.take_parked) {
    if (Step taken = take_parked_slot(); taken.has_value()) return taken;
  }
  const bool is_first = !records_.newest(request_).has_value();
  records_.add_slot(request_, meaning_, count_, write);
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

// Out of the document and into the slot in one step.
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
  MongoWrite write = records_.slot_change(request_, record, {});
  write.update.add("$unset", Document().add(parked->field, true));
  write.filter.add(parked->field + ".begin", parked->span.begin);
  require_above(write.filter, parked->span);
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind != MongoWriteAnswer::Kind::done) return conclude(std::move(answer));
  if (!answer.document) return std::nullopt;
  records_.learn(request_, record);
  return granted_parked(parked->span);
}

// Mostly the collection's validator takes no field that it does not know.
LeaseOutcome MongoCounter::refuse_by_validator(const Status& error) {
  refused_by_validator_ = true;
  if (trace_ != LeaseTrace::slot) return refused(error);
  return refused({error.code(), error.text() + "; let the collection's validator pass an object "
                                               "\"seqd\", or set lease_mode = \"plain\""});
}

// Counter and record change together or not at all. Only the commit applies them; a failure before
// it is sent leaves no change.
MongoCounter::Step MongoCounter::increment_in_transaction(const MongoWrite& write) {
  ASSERT(is_in_ledger(trace_));
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
  MongoWriteAnswer recorded = sessions_.run(transaction, records_.ledger_entry(request_, record));
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
    const Result<bool> announced =
        writes.update(records_.announcement(request_, sent), sent.statement);
    // The lease itself was not sent.
    if (!announced.ok()) return refused(announced.status());
    if (!*announced) return std::nullopt;  // the lease slot's record holds another token
    sent_ = sent;
    records_.learn(request_, LeaseRecord{.token = request_.token});
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

// The transaction was not applied and may be tried again: after a conflict by the core, which
// pauses before; meanwhile the thread is there for the other sequences of the store.
MongoCounter::Step MongoCounter::retry(MongoWriteAnswer answer) {
  if (is_conflict(answer.server_code)) {
    conflict_ = std::move(answer.error);
    return std::nullopt;
  }
  if (++failures_ > kMostFailures || late()) return refused(std::move(answer.error));
  retrying_ = true;
  return std::nullopt;
}

LeaseOutcome MongoCounter::grant(const Document& document) const {
  const CounterNumber number = read_counter_number(document.get(), binding_.counter_field);
  if (number.kind != CounterNumber::Kind::integer || number.value < count_ ||
      last_issued_of(number.value, meaning_) == INT64_MAX) {
    return unknown_outcome(
        {ErrorCode::SEQ_TYPE,
         fmt::format("{}: after adding {} the server returned {}", where_, count_, number.found)});
  }
  const std::int64_t end = last_issued_of(number.value, meaning_) + 1;
  const LeasedSpan span{end - count_, end};
  if (span.begin < std::max<std::int64_t>(1, request_.high_water) ||
      span.end - 1 > highest_id(request_)) {
    return unknown_outcome(
        {ErrorCode::SEQ_REGRESSED,
         fmt::format("{}: the server returned the range {} .. {}, which its own filter excludes",
                     where_, span.begin, span.end - 1)});
  }
  return granted(span);
}

// Determines why nothing matched. Ends the lease with the reason, or prepares the next attempt.
MongoCounter::Step MongoCounter::diagnose() {
  auto read = clients_.read(binding_.collection, key_filter(binding_));
  if (!read.ok()) return refused(read.status());
  if (!read->has_value()) return create();
  if (trace_ != LeaseTrace::plain) {
    auto record = trace_ == LeaseTrace::slot ? records_.record_in(**read, request_)
                                             : records_.read_ledger(request_);
    if (!record.ok()) return refused(record.status());
    if (Step ended = compare(*record); ended.has_value()) return ended;
  }
  auto state = state_of(**read, binding_, where_);
  if (!state.ok()) return refused(state.status());
  meaning_ = state->meaning;
  const CounterNumber& number = state->number;
  const std::int64_t next = next_id_of(number.value, meaning_);
  if (next < parked_end_) return refused(above_the_counter(where_, next, parked_end_));
  auto span = span_after(last_issued_of(number.value, meaning_), request_, where_);
  if (!span.ok()) return refused(span.status());
  count_ = span->end - span->begin;
  if (number.kind == CounterNumber::Kind::integral_double) return accept_double(number);
  return std::nullopt;
}

// A program that wrote a double may write another one before the next attempt, so the lease itself
// has to accept doubles. On a server that does not support that, which is possible for plain leases
// only, the double is converted first; usually that suffices.
MongoCounter::Step MongoCounter::accept_double(const CounterNumber& number) {
  if (trace_ == LeaseTrace::plain) {
    bool pipelines = false;
    if (std::exchange(converted_, true)) {
      auto facts = clients_.server(binding_.collection);
      if (!facts.ok()) return refused(facts.status());
      pipelines = facts->wire_version >= kMongoWireOfPipelines;
    }
    if (!pipelines) return convert(number.as_double, number.value);
  }
  doubles_ = true;
  return std::nullopt;
}

// What the record says of our own token; any other becomes the one to replace.
MongoCounter::Step MongoCounter::compare(const std::optional<LeaseRecord>& record) {
  records_.learn(request_, record);
  if (!record || record->token != request_.token) return std::nullopt;
  // Otherwise the request was delivered before.
  if (record->state == LeaseRecord::State::sent)
    return sent_ ? std::nullopt : send_again(record->sent);
  if (record->state == LeaseRecord::State::parked) return granted_parked(record->span);
  if (record->state == LeaseRecord::State::granted) return granted(record->span);
  return refused(
      {ErrorCode::STORE_REFUSED,
       fmt::format("{}: lease {} was revoked before it arrived", where_, to_hex(request_.token))});
}

}  // namespace seqd
