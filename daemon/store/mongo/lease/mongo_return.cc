#include "daemon/store/mongo/lease/mongo_return.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "daemon/store/mongo/driver/mongo_transaction.h"
#include "daemon/store/mongo/lease/mongo_parked.h"

namespace seqd {
namespace {

// 1 is the rule, 2 where the lease slot begins; others may change the counter meanwhile. More
// attempts would keep a thread from the other sequences of the store.
constexpr int kMostAttempts = 4;

}  // namespace

MongoReturn::MongoReturn(MongoClients& clients, MongoLeaseRecords& records, MongoSessions& sessions,
                         const ReturnRequest& request)
    : clients_(clients),
      records_(records),
      sessions_(sessions),
      request_(request),
      slot_(as_lease(request)),
      trace_(is_in_ledger(trace_of(request.token)) ? LeaseTrace::ledger : trace_of(request.token)),
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

Result<std::optional<LeaseRecord>> MongoReturn::read_record(std::optional<Document>* counter) {
  auto read = clients_.read(request_.binding.collection, key_filter(request_.binding));
  if (!read.ok()) return read.status();
  *counter = std::move(*read);
  if (trace_ == LeaseTrace::ledger) return records_.read_ledger(slot_);
  if (!counter->has_value()) return std::optional<LeaseRecord>();
  return records_.record_in(**counter, slot_);
}

MongoReturn::Step MongoReturn::attempt() {
  std::optional<Document> counter;
  auto found = read_record(&counter);
  if (!found.ok()) return not_known(found.status());
  records_.learn(slot_, *found);
  if (found->has_value() && (*found)->token == request_.token)
    return (*found)->granted() ? returned() : kept(given_up_reason(where_));
  if (!counter) return give_up(above_the_counter(where_, 0, request_.end));
  if (!found->has_value()) return begin_slot();
  auto state = state_of(*counter, request_.binding, where_);
  if (!state.ok()) return not_known(state.status());
  const std::int64_t next = next_id_of(state->number.value, state->meaning);
  // Above a counter that was set back the range would be leased once more.
  if (next < request_.end) return give_up(above_the_counter(where_, next, request_.end));
  if (request_.reuse == Reuse::tail && next > request_.end)
    return give_up(not_the_tail(where_, next, request_));
  if (request_.begin < state->floor)
    return give_up(below_the_floor(where_, state->floor, request_));
  if (trace_ == LeaseTrace::slot && request_.reuse == Reuse::parked &&
      parked_fields(*counter, request_.binding) >= kMostParkedFields) {
    return give_up(
        {ErrorCode::STORE_REFUSED, fmt::format("{}: {} ranges are parked in the document already",
                                               where_, kMostParkedFields)});
  }
  return apply(*counter, state->meaning);
}

// Without a record, the return may have been applied by an earlier life, and its record swept
// since. A slot is also gone when another program wrote the document again as a whole. And a write
// that requires the absence of a record could be applied once more by a late request, after the
// instance was forgotten.
MongoReturn::Step MongoReturn::begin_slot() {
  if (trace_ == LeaseTrace::slot) return give_up(record_is_gone(where_));
  const Result<bool> certain = records_.never_made(slot_);
  if (!certain.ok()) return not_known(certain.status());
  if (!*certain) return give_up(given_up_reason(where_));
  const Status begun = records_.begin_slot(slot_);
  return begun.ok() ? Step() : Step(not_known(begun));
}

MongoReturn::Step MongoReturn::apply(const Document& counter, Meaning meaning) {
  const CounterBinding& binding = request_.binding;
  const bool tail = request_.reuse == Reuse::tail;
  const bool marked = mark_of(counter, binding) != Meaning::unset;
  Document set;
  if (tail) set.add(binding.counter_field, value_of(request_.begin - 1, meaning));
  if (!tail && trace_ == LeaseTrace::slot)
    set.add(parked_field_name(request_.token), parked_field_value(request_));
  MongoWrite write;
  if (trace_ == LeaseTrace::slot) {
    write = records_.slot_change(slot_, record(), std::move(set));
  } else if (tail) {
    write.collection = binding.collection;
    write.filter = key_filter(binding);
    write.update.add("$set", set);
    write.returned_field = binding.counter_field;
  } else {
    write = counter_touch(binding);
  }
  const std::int64_t end = value_of(request_.end - 1, meaning);
  write.filter.add(binding.counter_field, tail ? number_equal(end) : number_at_least(end));
  write.filter.add(mongo_floor_of(binding), floor_at_most(request_.begin));
  require_meaning(write.filter, binding, meaning, !marked);
  if (trace_ == LeaseTrace::ledger) return apply_in_transaction(write);
  const MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (Step ended = conclude(answer); ended.has_value()) return ended;
  if (answer.kind != MongoWriteAnswer::Kind::done || !answer.document) return std::nullopt;
  records_.learn(slot_, record());
  return returned();
}

// Number or parked range, and record: together or not at all. Of a tail the number is set; for a
// parked range the counter is only touched, and has to be restored.
MongoReturn::Step MongoReturn::apply_in_transaction(const MongoWrite& counted) {
  const bool tail = request_.reuse == Reuse::tail;
  ASSERT(tail || request_.reuse == Reuse::parked);
  if (!tail) {
    if (Status made = make_returned_collection(clients_); !made.ok()) return not_known(made);
  }
  MongoTransaction transaction(clients_);
  if (Status status = transaction.begin(); !status.ok()) return not_known(std::move(status));
  if (Status status = sessions_.announce(request_.instance, transaction); !status.ok())
    return not_known(std::move(status));
  std::vector<const MongoWrite*> writes = {&counted};
  const MongoWrite restored = counter_restored(request_.binding);
  const MongoWrite parked = parking(request_);
  const MongoWrite entry = records_.ledger_entry(slot_, record());
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
