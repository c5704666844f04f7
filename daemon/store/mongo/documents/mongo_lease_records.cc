#include "daemon/store/mongo/documents/mongo_lease_records.h"

#include <algorithm>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/documents/mongo_instances.h"
#include "daemon/store/mongo/documents/mongo_seed.h"

namespace seqd {
namespace {

// The record may be replaced: it has the token that was seen, and if that is the request's own, its
// lease is only announced yet.
void require_replaceable(Document& filter, const LeaseRequest& request,
                         const std::optional<Token>& seen) {
  require_record_token(filter, request, seen);
  if (seen == request.token) require_record_state(filter, request, LeaseRecord::State::sent);
}

// A token that no lease or return has, with the trace of this one: the mark of the trace is in the
// first half, which stays, and the other half is inverted. A record with the request's own token
// would say that the request itself is void.
Token unused_token(const Token& token) {
  Token unused = token;
  for (std::size_t at = unused.size() / 2; at < unused.size(); ++at)
    unused[at] = static_cast<std::uint8_t>(~unused[at]);
  return unused;
}

}  // namespace

// --- the newest token of each lease slot

MongoLeaseRecords::RecordPlace MongoLeaseRecords::place_of_record(const LeaseRequest& request) {
  return {!in_ledger(request), slot_of(request)};
}

std::optional<Token> MongoLeaseRecords::newest(const LeaseRequest& request) const {
  const std::lock_guard lock(mutex_);
  const auto found = newest_.find(place_of_record(request));
  return found == newest_.end() ? std::nullopt : std::optional(found->second);
}

void MongoLeaseRecords::learn(const LeaseRequest& request,
                              const std::optional<LeaseRecord>& record) {
  const std::lock_guard lock(mutex_);
  const RecordPlace known = place_of_record(request);
  if (!record) {
    newest_.erase(known);
    return;
  }
  if (newest_.size() >= kMostLeaseSlots && !newest_.contains(known)) newest_.erase(newest_.begin());
  newest_[known] = record->token;
}

void MongoLeaseRecords::forget(const LeaseRequest& request) {
  const std::lock_guard lock(mutex_);
  for (const bool in_counter : {false, true}) newest_.erase({in_counter, slot_of(request)});
}

// --- reading

Result<std::optional<LeaseRecord>> MongoLeaseRecords::read_ledger(const LeaseRequest& request) {
  auto read = clients_.read(kMongoLedger, record_filter(request));
  if (!read.ok()) return read.status();
  if (!read->has_value()) return std::optional<LeaseRecord>();
  return record_in(**read, request, clients_);
}

Result<bool> MongoLeaseRecords::never_made(const LeaseRequest& request) {
  return MongoInstances(clients_).has_all_records(request.instance);
}

// --- writes

// Puts `record` in place of the token that was seen.
MongoWrite MongoLeaseRecords::write_of(const LeaseRequest& request, const LeaseRecord& record,
                                       const std::optional<Token>& seen, Document set) const {
  MongoWrite write;
  write.collection = record_collection(request);
  write.filter = record_filter(request);
  require_replaceable(write.filter, request, seen);
  write.update = record_update(request, record, std::move(set));
  write.returned_field = "_id";
  write.upsert = in_ledger(request) && !seen;
  return write;
}

MongoWrite MongoLeaseRecords::replacement(const LeaseRequest& request, const LeaseRecord& record,
                                          Document set) const {
  return write_of(request, record, newest(request), std::move(set));
}

void MongoLeaseRecords::add_record(const LeaseRequest& request, Meaning meaning, std::int64_t count,
                                   MongoWrite& lease) const {
  const std::string& number = request.binding.counter_field;
  require_replaceable(lease.filter, request, newest(request));
  // The expressions below read the number differently from $inc (a path through arrays); and a
  // field of another program under our name stays as it is.
  const Document ours = std::move(Document().add("0", "missing").add("1", "object"));
  const auto type_in = [](const std::string& field, const Document& types) {
    return std::move(Document().add_array(
        "$in", Document().add("0", Document().add("$type", field)).add_array("1", types)));
  };
  lease.filter.add(
      "$expr",
      Document().add_array("$and", Document()
                                       .add("0", whole_number(number))
                                       .add("1", type_in("$seqd", ours))
                                       .add("2", type_in(std::string("$") + kMongoSlots, ours))));
  const std::int64_t to_next = meaning == Meaning::next ? 0 : 1;  // from the number to the next ID
  Document set;
  set.add(number, number_plus(number, count))
      .add(mongo_slot_path(slot_of(request)),
           granted_record(request.token, number_plus(number, to_next),
                          number_plus(number, to_next + count)));
  lease.update = std::move(Document().add("0", Document().add("$set", set)));
}

MongoWrite MongoLeaseRecords::voiding(const LeaseRequest& request, const std::optional<Token>& seen,
                                      LeaseRecord::State state) const {
  MongoWrite write = write_of(request, {.token = request.token, .state = state}, seen);
  // The transaction of the lease itself may be open yet.
  write.max_time_ms = static_cast<std::uint32_t>(std::max(1, clients_.target().timeout_ms / 4 * 3));
  return write;
}

// The first lease of a counter that is not there yet: the counter is made with the token void, and
// the request finds it so when it arrives after all.
Result<MongoWrite> MongoLeaseRecords::void_counter(const LeaseRequest& request) const {
  const CounterBinding& binding = request.binding;
  const Result<std::int64_t> first = first_of_new(clients_, binding);
  if (!first.ok()) return first.status();
  const Meaning meaning = meaning_of_new(binding);
  Document counter;
  counter.add(binding.counter_field, value_of(*first - 1, meaning))
      .add("seqd.meaning", meaning_word(meaning))
      .add("seqd.field", binding.counter_field);
  MongoWrite write;
  write.collection = binding.collection;
  write.filter = key_filter(binding);
  write.filter.add(binding.counter_field, Document().add("$exists", false));
  write.update = record_update(
      request, {.token = request.token, .state = LeaseRecord::State::voided}, std::move(counter));
  write.returned_field = "_id";
  write.upsert = true;
  return write;
}

Status MongoLeaseRecords::make_first(const LeaseRequest& request) {
  ASSERT(in_ledger(request));
  LeaseRequest unused = request;
  unused.token = unused_token(request.token);
  const MongoWriteAnswer answer = clients_.find_and_modify(voiding(unused, std::nullopt));
  const bool made_meanwhile = answer.server_code == kMongoDuplicateKey;
  return answer.kind == MongoWriteAnswer::Kind::done || made_meanwhile ? Status() : answer.error;
}

}  // namespace seqd
