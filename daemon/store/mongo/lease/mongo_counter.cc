#include "daemon/store/mongo/lease/mongo_counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/store/mongo/driver/mongo_attempts.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 20;  // that matched nothing; 0 or 1 is the rule
constexpr int kMostFailures = 2;   // after which an attempt is repeated

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
  LeaseOutcome outcome = lease_in_attempts(index_known);
  // That is no proof of the open attempt, which its record is asked for.
  if (open_ && outcome.kind == LeaseOutcome::Kind::refused)
    return unknown_while_open(outcome.error);
  return outcome;
}

LeaseOutcome MongoCounter::lease_in_attempts(bool index_known) {
  if (!index_known) {
    if (Status status = check_unique_key(clients_, binding_); !status.ok())
      return refused(std::move(status));
  }
  // Delivered before: the record has the outcome.
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
  const std::int64_t first = std::max(request_.high_water, floor_);
  const std::int64_t lowest =
      std::max(lowest_value(meaning_), first > 0 ? value_of(first - 1, meaning_) : 0);
  const std::int64_t highest = value_of(highest_id(request_) - count_, meaning_);
  MongoWrite write;
  write.collection = binding_.collection;
  write.filter = key_filter(binding_);
  Document bounds = doubles_ ? number_at_least(lowest) : integer_at_least(lowest);
  write.filter.add(binding_.counter_field, bounds.add("$lte", highest));
  require_meaning(write.filter, binding_, meaning_, binding_.meaning != Meaning::unset);
  // A counter within the bounds is not below such a floor. A higher one is read.
  write.filter.add(mongo_floor_of(binding_), floor_at_most(first));
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

// The rows of the table in the header.
MongoCounter::Step MongoCounter::increment() {
  conflict_.reset();
  MongoWrite write = counter_write();
  switch (trace_) {
    case LeaseTrace::plain:
      return conclude(clients_.find_and_modify(write));
    case LeaseTrace::slot:
      return increment_with_slot(std::move(write));
    case LeaseTrace::session:
      return increment_as_numbered(write);
    case LeaseTrace::transaction:
      break;
  }
  return increment_in_transaction(write);
}

MongoCounter::Step MongoCounter::conclude(MongoWriteAnswer answer) {
  open_ = open_ || answer.is_open;
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
  // The open attempt may find the counter once it is made, and has no record.
  if (trace_ == LeaseTrace::plain && open_) return unknown_while_open();
  return std::nullopt;
}

LeaseOutcome MongoCounter::unknown_while_open(const Status& last) const {
  const std::string text = where_ + ": an attempt that was not answered may still be applied";
  if (last.ok()) return unknown_outcome({ErrorCode::UNAVAILABLE, text});
  return unknown_outcome({last.code(), text + "; the last one: " + last.text()});
}

// Most validators that refuse a lease allow no further field.
LeaseOutcome MongoCounter::refuse_by_validator(const Status& error) {
  refused_by_validator_ = true;
  if (trace_ != LeaseTrace::slot) return refused(error);
  return refused({error.code(), error.text() + "; let the collection's validator pass an object "
                                               "\"seqd\", or set lease_mode = \"plain\""});
}

// The lease was not applied and may be repeated: at once, or after a conflict by the core, which
// pauses before; meanwhile the thread serves the other sequences of the store.
MongoCounter::Step MongoCounter::retry(MongoWriteAnswer answer) {
  if (is_conflict(answer.server_code)) {
    conflict_ = std::move(answer.error);
    return std::nullopt;
  }
  if (++failures_ > kMostFailures || late()) return refused(std::move(answer.error));
  retrying_ = true;
  return std::nullopt;
}

// The range that ends where the counter stands now. It is compared with the lease's own filter: a
// server that is not what it seems to be grants nothing.
LeaseOutcome MongoCounter::grant(const Document& counter) const {
  const CounterNumber number = read_counter_number(counter.get(), binding_.counter_field);
  const std::optional<LeasedSpan> span = span_added(number, meaning_, count_);
  if (!span) {
    return unknown_outcome(
        {ErrorCode::SEQ_TYPE,
         fmt::format("{}: after adding {} the server returned {}", where_, count_, number.found)});
  }
  if (span->begin < std::max<std::int64_t>(1, request_.high_water) ||
      span->end - 1 > highest_id(request_)) {
    return unknown_outcome(
        {ErrorCode::SEQ_REGRESSED,
         fmt::format("{}: the server returned the range {} .. {}, which its own filter excludes",
                     where_, span->begin, span->end - 1)});
  }
  return granted(*span);
}

// Why nothing matched, and what follows:
//
//   the document                          the lease
//   is missing                            creates it, or ends refused
//   has a record of this lease            ends as the record says, or is sent again: compare()
//   has no usable number or meaning       ends refused
//   is below a range that is parked       ends refused: the counter was set back
//   is below the high-water mark          ends refused: the same
//   is below its floor                    ends refused: the same
//   has no ID left                        ends refused
//   has a double                          converts it, or takes it as it is
//   none of these: others changed it,     is tried again, with the meaning, floor and count found
//   or the floor was not known
MongoCounter::Step MongoCounter::diagnose() {
  auto read = clients_.read(binding_.collection, key_filter(binding_));
  if (!read.ok()) return refused(read.status());
  if (!read->has_value()) return create();
  if (trace_ != LeaseTrace::plain) {
    auto record = trace_ == LeaseTrace::slot ? record_in(**read, request_, clients_)
                                             : records_.read_ledger(request_);
    if (!record.ok()) return refused(record.status());
    if (Step ended = compare(*record); ended.has_value()) return ended;
  }
  auto state = state_of(**read, binding_, where_);
  if (!state.ok()) return refused(state.status());
  meaning_ = state->meaning;
  floor_ = state->floor;
  const CounterNumber& number = state->number;
  const std::int64_t next = next_id_of(number.value, meaning_);
  if (next < parked_end_) return refused(above_the_counter(where_, next, parked_end_));
  const std::int64_t last = last_issued_of(number.value, meaning_);
  if (Status set_back = check_not_below_floor(last, floor_, request_, where_); !set_back.ok())
    return refused(std::move(set_back));
  auto span = span_after(last, request_, where_);
  if (!span.ok()) return refused(span.status());
  count_ = span->end - span->begin;
  if (number.kind == CounterNumber::Kind::integral_double) return accept_double(number);
  return std::nullopt;
}

// What the record says of this lease. Another token is the newest from now on.
MongoCounter::Step MongoCounter::compare(const std::optional<LeaseRecord>& record) {
  records_.learn(request_, record);
  if (!record || record->token != request_.token) return std::nullopt;
  switch (record->state) {
    case LeaseRecord::State::granted:
      return granted(record->span);
    case LeaseRecord::State::parked:
      return granted_parked(record->span);
    case LeaseRecord::State::sent:  // by this call, or by an earlier delivery of the request
      return sent_ ? Step() : send_again(record->sent);
    case LeaseRecord::State::voided:
    case LeaseRecord::State::forgotten:
      break;
  }
  return refused(
      {ErrorCode::STORE_REFUSED, fmt::format("{}: lease {} was made void before it arrived", where_,
                                             to_hex(request_.token))});
}

}  // namespace seqd
