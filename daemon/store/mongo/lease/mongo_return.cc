#include "daemon/store/mongo/lease/mongo_return.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "daemon/store/mongo/driver/mongo_transaction.h"
#include "daemon/store/mongo/lease/mongo_parked.h"

namespace seqd {
namespace {

// 1 is the rule, 2 where the lease slot has no record; others may change the counter meanwhile.
// More attempts would keep a thread from the other sequences of the store.
constexpr int kMostAttempts = 4;

}  // namespace

MongoReturn::MongoReturn(MongoClients& clients, MongoLeaseRecords& records, MongoSessions& sessions,
                         const ReturnRequest& request)
    : clients_(clients),
      records_(records),
      sessions_(sessions),
      request_(request),
      slot_(as_lease(request)),
      trace_(trace_of(request.token)),
      in_ledger_(is_in_ledger(trace_)),
      where_(place_of(clients, request.binding)),
      deadline_(std::chrono::steady_clock::now() +
                2 * std::chrono::milliseconds(clients.target().timeout_ms)) {}

ReturnOutcome MongoReturn::run() {
  if (trace_ == LeaseTrace::plain) {
    return kept(
        {ErrorCode::STORE_REFUSED,
         fmt::format("{}: in lease_mode \"plain\" there is nowhere to note that a range was "
                     "returned, and it could be returned twice",
                     where_)});
  }
  if (request_.give_up) return give_up(given_up_reason(where_));
  for (int attempts = 0; attempts < kMostAttempts && (attempts == 0 || !late()); ++attempts) {
    if (Step ended = attempt(); ended.has_value()) return std::move(*ended);
  }
  sessions_.end_suspects();
  Status why(ErrorCode::UNAVAILABLE,
             fmt::format("{}: others changed the counter at every attempt", where_));
  return only_conflicts_ ? contended_return(std::move(why)) : not_known(std::move(why));
}

Result<std::optional<LeaseRecord>> MongoReturn::read_record(
    const std::optional<Document>& counter) {
  if (in_ledger_) return records_.read_ledger(slot_);
  if (!counter) return std::optional<LeaseRecord>();
  return record_in(*counter, slot_, clients_);
}

// In this order:
//
//   the record  the counter             the return
//   this one's  any                     has its outcome: "granted" is returned, "void" is kept
//   any         is missing              is given up
//   none        is there                has to make one first: begin_without_record()
//   another's   has no usable number    fails, and is repeated later
//               does not fit the range  is given up: check()
//               fits                    is applied
MongoReturn::Step MongoReturn::attempt() {
  const auto counter = clients_.read(request_.binding.collection, key_filter(request_.binding));
  if (!counter.ok()) return not_known(counter.status());
  const auto found = read_record(*counter);
  if (!found.ok()) return not_known(found.status());
  records_.learn(slot_, *found);
  if (found->has_value() && (*found)->token == request_.token)
    return (*found)->granted() ? returned() : kept(given_up_reason(where_));
  if (!counter->has_value()) return give_up(above_the_counter(where_, 0, request_.end));
  if (!found->has_value()) return begin_without_record();
  const auto state = state_of(**counter, request_.binding, where_);
  if (!state.ok()) return not_known(state.status());
  if (Step ended = check(**counter, *state); ended.has_value()) return ended;
  const MongoWrite change = change_of(**counter, state->meaning);
  return in_ledger_ ? apply_in_transaction(change) : apply(change);
}

// A record that is missing may have been lost, and it may have said that this return was applied. A
// slot is also lost when another program writes the document again as a whole. And no write of a
// return may require that there is no record: one that is late would be applied once more after the
// instance was forgotten. So a record is made first, and the next attempt replaces it.
MongoReturn::Step MongoReturn::begin_without_record() {
  if (!in_ledger_) return give_up(record_is_gone(where_));
  const Result<bool> certain = records_.never_made(slot_);
  if (!certain.ok()) return not_known(certain.status());
  if (!*certain) return give_up(given_up_reason(where_));
  const Status made = records_.make_first(slot_);
  return made.ok() ? Step() : Step(not_known(made));
}

// Whether the counter can take the range: none where it can.
MongoReturn::Step MongoReturn::check(const Document& counter, const MongoCounterState& state) {
  const std::int64_t next = next_id_of(state.number.value, state.meaning);
  // Above a counter that was set back the range would be leased once more.
  if (next < request_.end) return give_up(above_the_counter(where_, next, request_.end));
  if (request_.reuse == Reuse::tail && next > request_.end)
    return give_up(not_the_tail(where_, next, request_));
  if (request_.begin < state.floor) return give_up(below_the_floor(where_, state.floor, request_));
  if (!in_ledger_ && request_.reuse == Reuse::parked &&
      parked_fields(counter, request_.binding) >= kMostParkedFields) {
    return give_up(
        {ErrorCode::STORE_REFUSED, fmt::format("{}: {} ranges are parked in the document already",
                                               where_, kMostParkedFields)});
  }
  return std::nullopt;
}

MongoWrite MongoReturn::change_of(const Document& counter, Meaning meaning) const {
  const CounterBinding& binding = request_.binding;
  const bool tail = request_.reuse == Reuse::tail;
  Document number;
  number.add(binding.counter_field, value_of(request_.begin - 1, meaning));
  Document parked;
  parked.add(parked_field_name(request_.token), parked_field_value(request_));
  MongoWrite write;
  if (!in_ledger_) {
    write = records_.replacement(slot_, record(), std::move(tail ? number : parked));
  } else if (tail) {
    write.collection = binding.collection;
    write.filter = key_filter(binding);
    write.update.add("$set", number);
    write.returned_field = binding.counter_field;
  } else {
    write = counter_touch(binding);  // the range gets a document of its own
  }
  const std::int64_t end = value_of(request_.end - 1, meaning);
  write.filter.add(binding.counter_field, tail ? number_equal(end) : number_at_least(end));
  write.filter.add(mongo_floor_of(binding), floor_at_most(request_.begin));
  const bool marked = mark_of(counter, binding) != Meaning::unset;
  require_meaning(write.filter, binding, meaning, !marked);
  return write;
}

MongoReturn::Step MongoReturn::apply(const MongoWrite& change) {
  const MongoWriteAnswer answer = clients_.find_and_modify(change);
  if (Step ended = conclude(answer); ended.has_value()) return ended;
  if (answer.kind != MongoWriteAnswer::Kind::done || !answer.document) return std::nullopt;
  records_.learn(slot_, record());
  return returned();
}

// The statements of the transaction, in this order:
//
//   tail    the counter's number is set; the record
//   parked  the counter is touched and restored; the range's document; the record
MongoReturn::Step MongoReturn::apply_in_transaction(const MongoWrite& change) {
  const bool tail = request_.reuse == Reuse::tail;
  ASSERT(tail || request_.reuse == Reuse::parked);
  if (!tail) {
    if (Status made = make_returned_collection(clients_); !made.ok()) return not_known(made);
  }
  MongoTransaction transaction(clients_);
  if (Status status = transaction.begin(); !status.ok()) return not_known(std::move(status));
  if (Status status = sessions_.announce(request_.instance, transaction); !status.ok())
    return not_known(std::move(status));
  std::vector<const MongoWrite*> writes = {&change};
  const MongoWrite restored = counter_restored(request_.binding);
  const MongoWrite parked = parking(request_);
  const MongoWrite entry = records_.replacement(slot_, record());
  if (!tail) writes.insert(writes.end(), {&restored, &parked});
  writes.push_back(&entry);
  for (const MongoWrite* write : writes) {
    const MongoWriteAnswer answer = sessions_.run(transaction, *write);
    // The lease slot's record holds another token.
    if (write == &entry && answer.server_code == kMongoDuplicateKey) return std::nullopt;
    if (Step ended = conclude(answer); ended.has_value()) return ended;
    if (answer.kind != MongoWriteAnswer::Kind::done || !answer.document) return std::nullopt;
  }
  const MongoWriteAnswer committed =
      sessions_.commit(transaction, request_.binding.collection, deadline_);
  if (Step ended = conclude(committed); ended.has_value()) return ended;
  if (committed.kind != MongoWriteAnswer::Kind::done) return std::nullopt;
  records_.learn(slot_, record());
  return returned();
}

// What failed, unless it may be tried again at once.
MongoReturn::Step MongoReturn::conclude(const MongoWriteAnswer& answer) {
  if (answer.kind == MongoWriteAnswer::Kind::done) return std::nullopt;
  if (answer.kind == MongoWriteAnswer::Kind::refused && answer.again) {
    only_conflicts_ = only_conflicts_ && answer.server_code == kMongoWriteConflict;
    return std::nullopt;
  }
  return not_known(answer.error);
}

// The token is made void, unless the return was applied: then that is its outcome.
ReturnOutcome MongoReturn::give_up(Status why) {
  return end_of(records_.resolve(slot_), std::move(why), where_);
}

}  // namespace seqd
