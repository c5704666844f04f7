#include "daemon/store/mongo/lease/mongo_lease_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/driver/mongo_numbered_writes.h"
#include "daemon/store/mongo/lease/mongo_binding.h"
#include "daemon/store/mongo/lease/mongo_instances.h"
#include "daemon/store/mongo/lease/mongo_seed.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // of a look-up whose record changes meanwhile

bool in_ledger(const LeaseRequest& request) {
  return is_in_ledger(trace_of(request.token));
}

Document record_filter(const LeaseRequest& request) {
  return in_ledger(request) ? std::move(Document().add("_id", slot_of(request)))
                            : key_filter(request.binding);
}

// A record of the request's own token is replaced only while the lease is on its way: what is
// granted or given up stays.
void require_newest(Document& filter, const LeaseRequest& request,
                    const std::optional<Token>& newest) {
  const std::string prefix = record_prefix(request);
  if (newest) {
    filter.add_binary(prefix + "token", *newest);
    if (*newest == request.token) filter.add(prefix + "state", "sent");
  } else {
    filter.add(prefix + "token", Document().add("$exists", false));
  }
}

// The fields of a record, at the server's time.
Document record_change(const LeaseRequest& request, const LeaseRecord& record, Document set = {}) {
  const std::string prefix = record_prefix(request);
  set.add_binary(prefix + "token", record.token)
      .add(prefix + "state", record_state_word(record.state))
      .add(prefix + "begin", record.span.begin)
      .add(prefix + "end", record.span.end);
  if (record.state == LeaseRecord::State::sent) {
    set.add(prefix + "count", record.sent.count)
        .add(prefix + "meaning", meaning_word(record.sent.meaning))
        .add(prefix + "statement", std::int64_t{record.sent.statement});
  }
  if (in_ledger(request))
    set.add("collection", request.binding.collection).add("key", request.binding.key);
  return std::move(
      Document().add("$set", set).add("$currentDate", Document().add(prefix + "at", true)));
}

// Whether a look-up may make the counter. Where its key has an index of its own, that would have to
// be looked at first; such a lease is given up instead.
bool may_create(const LeaseRequest& request) {
  return request.binding.create && request.binding.key_field == "_id";
}

Resolution failed(Status error) {
  return {.kind = Resolution::Kind::failed, .begin = 0, .end = 0, .error = std::move(error)};
}

Resolution resolved(Resolution::Kind kind, LeasedSpan span = {}, bool parked = false) {
  return {.kind = kind, .begin = span.begin, .end = span.end, .error = {}, .parked = parked};
}

}  // namespace

std::string record_prefix(const LeaseRequest& request) {
  return in_ledger(request) ? "" : "seqd.slots." + slot_of(request) + ".";
}

std::optional<Token> MongoLeaseRecords::newest(const LeaseRequest& request) const {
  const std::lock_guard lock(mutex_);
  const auto found = newest_.find(slot(request));
  return found == newest_.end() ? std::nullopt : std::optional(found->second);
}

void MongoLeaseRecords::learn(const LeaseRequest& request,
                              const std::optional<LeaseRecord>& record) {
  const std::lock_guard lock(mutex_);
  const LeaseSlot known = slot(request);
  if (!record) {
    newest_.erase(known);
    return;
  }
  if (newest_.size() >= kMostLeaseSlots && !newest_.contains(known)) newest_.erase(newest_.begin());
  newest_[known] = record->token;
}

void MongoLeaseRecords::forget(const LeaseRequest& request) {
  const std::lock_guard lock(mutex_);
  for (const LeaseTrace trace : {LeaseTrace::plain, LeaseTrace::ledger, LeaseTrace::slot})
    newest_.erase({trace, slot_of(request)});
}

Status MongoLeaseRecords::begin_slot(const LeaseRequest& request) {
  LeaseRequest unused = request;
  for (std::size_t at = unused.token.size() / 2; at < unused.token.size(); ++at)
    unused.token[at] = static_cast<std::uint8_t>(~unused.token[at]);
  const MongoWriteAnswer answer = clients_.find_and_modify(voiding(unused, std::nullopt));
  // If there is a record by now, it is used.
  const bool there = answer.server_code == kMongoDuplicateKey;
  return answer.kind == MongoWriteAnswer::Kind::done || there ? Status() : answer.error;
}

Result<std::optional<LeaseRecord>> MongoLeaseRecords::read_ledger(const LeaseRequest& request) {
  auto read = clients_.read(kMongoLedger, record_filter(request));
  if (!read.ok()) return read.status();
  if (!read->has_value()) return std::optional<LeaseRecord>();
  return record_in(**read, request);
}

MongoWrite MongoLeaseRecords::ledger_entry(const LeaseRequest& request,
                                           const LeaseRecord& record) const {
  const std::optional<Token> expected = newest(request);
  MongoWrite write;
  write.collection = kMongoLedger;
  write.filter = record_filter(request);
  require_newest(write.filter, request, expected);
  write.update = record_change(request, record);
  write.returned_field = "_id";
  write.upsert = !expected.has_value();
  return write;
}

MongoWrite MongoLeaseRecords::announcement(const LeaseRequest& request,
                                           const LeaseRecord::Sent& sent) const {
  const std::optional<Token> expected = newest(request);
  MongoWrite write;
  write.collection = kMongoLedger;
  write.filter = record_filter(request);
  require_newest(write.filter, request, expected);
  write.update = record_change(
      request, {.token = request.token, .state = LeaseRecord::State::sent, .sent = sent});
  write.upsert = !expected.has_value();
  return write;
}

MongoWrite MongoLeaseRecords::slot_change(const LeaseRequest& request, const LeaseRecord& record,
                                          Document set) const {
  MongoWrite write;
  write.collection = request.binding.collection;
  write.filter = record_filter(request);
  require_newest(write.filter, request, newest(request));
  write.update = record_change(request, record, std::move(set));
  write.returned_field = "_id";
  return write;
}

void MongoLeaseRecords::add_slot(const LeaseRequest& request, Meaning meaning, std::int64_t count,
                                 MongoWrite& write) const {
  const std::string& number = request.binding.counter_field;
  require_newest(write.filter, request, newest(request));
  // The expressions below read the number differently from $inc (a path through arrays); and a
  // field of another program under our name stays as it is.
  const Document ours = std::move(Document().add("0", "missing").add("1", "object"));
  const auto type_in = [](const std::string& field, const Document& types) {
    return std::move(Document().add_array(
        "$in", Document().add("0", Document().add("$type", field)).add_array("1", types)));
  };
  write.filter.add("$expr",
                   Document().add_array("$and", Document()
                                                    .add("0", whole_number(number))
                                                    .add("1", type_in("$seqd", ours))
                                                    .add("2", type_in("$seqd.slots", ours))));
  const auto plus = [&number](std::int64_t more) { return number_plus(number, more); };
  const std::int64_t first = meaning == Meaning::next ? 0 : 1;  // from the number to the next ID
  Document slot;
  slot.add_binary("token", request.token)
      .add("state", "granted")
      .add("begin", plus(first))
      .add("end", plus(first + count))
      .add("at", "$$NOW");
  Document set;
  set.add(number, plus(count)).add("seqd.slots." + slot_of(request), slot);
  write.update = std::move(Document().add("0", Document().add("$set", set)));
}

MongoWrite MongoLeaseRecords::voiding(const LeaseRequest& request,
                                      const std::optional<LeaseRecord>& seen,
                                      LeaseRecord::State state) const {
  MongoWrite write;
  write.collection = in_ledger(request) ? kMongoLedger : request.binding.collection;
  write.filter = record_filter(request);
  require_newest(write.filter, request, seen ? std::optional(seen->token) : std::nullopt);
  write.update = record_change(request, {.token = request.token, .state = state});
  write.returned_field = "_id";
  write.upsert = in_ledger(request) && !seen;
  // The transaction of the lease itself may be open yet.
  write.max_time_ms = static_cast<std::uint32_t>(std::max(1, clients_.target().timeout_ms / 4 * 3));
  return write;
}

Result<MongoWrite> MongoLeaseRecords::giving_up(const LeaseRequest& request,
                                                const std::optional<LeaseRecord>& seen,
                                                bool counter_exists) {
  if (counter_exists || in_ledger(request)) return voiding(request, seen);
  const Result<std::int64_t> first = first_of_new(clients_, request.binding);
  if (!first.ok()) return first.status();
  return creation_with_void(request, *first);
}

// The counter's first lease, and the counter was not there yet: it is made with the token given up,
// so that the request finds it so when it arrives after all.
MongoWrite MongoLeaseRecords::creation_with_void(const LeaseRequest& request,
                                                 std::int64_t first) const {
  const CounterBinding& binding = request.binding;
  const Meaning meaning = meaning_of_new(binding);
  const std::string prefix = record_prefix(request);
  MongoWrite write;
  write.collection = binding.collection;
  write.filter = key_filter(binding);
  write.filter.add(binding.counter_field, Document().add("$exists", false));
  write.update.add("$set", Document()
                               .add(binding.counter_field, value_of(first - 1, meaning))
                               .add("seqd.meaning", meaning_word(meaning))
                               .add("seqd.field", binding.counter_field)
                               .add_binary(prefix + "token", request.token)
                               .add(prefix + "state", "void")
                               .add(prefix + "begin", std::int64_t{0})
                               .add(prefix + "end", std::int64_t{0}));
  write.update.add("$currentDate", Document().add(prefix + "at", true));
  write.returned_field = "_id";
  write.upsert = true;
  return write;
}

Result<bool> MongoLeaseRecords::never_made(const LeaseRequest& request) {
  return MongoInstances(clients_).has_all_records(request.instance);
}

// The write that makes the token void has the number and the statement of the lease: the server
// applies one of the two, and answers with what it has applied. That holds as long as it remembers
// the number, which the statement that announced the lease shows, and as long as it has the answer.
std::optional<Resolution> MongoLeaseRecords::resolve_sent(const LeaseRequest& request,
                                                          const LeaseRecord& record) {
  ASSERT(record.state == LeaseRecord::State::sent && record.token == request.token);
  MongoNumberedWrites writes(clients_, request);
  const Result<bool> remembered = writes.remembers(kMongoLedger, record.sent.statement);
  if (!remembered.ok()) return failed(remembered.status());
  MongoWriteAnswer answer;
  if (*remembered) {
    MongoWrite write = voiding(request, record);
    write.returned_field.clear();
    answer = writes.find_and_modify(write);
  }
  const bool forgotten = !*remembered || MongoNumberedWrites::is_forgotten(answer.server_code);
  // The answer can be requested once more, and must be the same.
  if (forgotten)
    answer = clients_.find_and_modify(voiding(request, record, LeaseRecord::State::forgotten));
  if (answer.kind != MongoWriteAnswer::Kind::done) return failed(answer.error);
  if (!answer.document) return std::nullopt;
  learn(request, LeaseRecord{.token = request.token});
  if (forgotten) return resolved(Resolution::Kind::untraceable);
  bson_iter_t found;
  const bool made_void = find_field(answer.document->get(), "_id", &found) &&
                         BSON_ITER_HOLDS_UTF8(&found) &&
                         slot_of(request) == bson_iter_utf8(&found, nullptr) &&
                         find_field(answer.document->get(), "token", &found);
  if (made_void) return resolved(Resolution::Kind::absent);
  const CounterNumber number =
      read_counter_number(answer.document->get(), request.binding.counter_field);
  if (number.kind != CounterNumber::Kind::integer || number.value < record.sent.count ||
      last_issued_of(number.value, record.sent.meaning) == INT64_MAX)
    return resolved(Resolution::Kind::untraceable);
  const std::int64_t end = last_issued_of(number.value, record.sent.meaning) + 1;
  return resolved(Resolution::Kind::granted, {end - record.sent.count, end});
}

Resolution MongoLeaseRecords::resolve(const LeaseRequest& request, bool* refused_by_validator) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto document = clients_.read(in_ledger(request) ? kMongoLedger : request.binding.collection,
                                  record_filter(request));
    if (!document.ok()) return failed(document.status());
    std::optional<LeaseRecord> record;
    if (document->has_value()) {
      auto found = record_in(**document, request);
      if (!found.ok()) return failed(found.status());
      record = *found;
    } else if (!in_ledger(request) && (request.high_water > 0 || !may_create(request))) {
      // The counter is missing, and with it its slots.
      return resolved(Resolution::Kind::untraceable);
    }
    learn(request, record);
    if (record && record->token == request.token) {
      if (record->state == LeaseRecord::State::sent) {
        if (const auto found = resolve_sent(request, *record)) return *found;
        continue;
      }
      if (record->state == LeaseRecord::State::forgotten)
        return resolved(Resolution::Kind::untraceable);
      if (!record->granted()) return resolved(Resolution::Kind::absent);
      return resolved(Resolution::Kind::granted, record->span,
                      record->state == LeaseRecord::State::parked);
    }
    if (!record) {
      auto certain = never_made(request);
      if (!certain.ok()) return failed(certain.status());
      if (!*certain) return resolved(Resolution::Kind::untraceable);
    }
    const Result<MongoWrite> write = giving_up(request, record, document->has_value());
    if (!write.ok()) return failed(write.status());
    MongoWriteAnswer answer = clients_.find_and_modify(*write);
    if (answer.kind == MongoWriteAnswer::Kind::done && answer.document) {
      learn(request, LeaseRecord{.token = request.token});
      return resolved(Resolution::Kind::absent);
    }
    if (answer.server_code == kMongoValidationFailure) {
      if (refused_by_validator != nullptr) *refused_by_validator = true;
      return resolved(Resolution::Kind::untraceable);
    }
    // Otherwise the record changed since it was read: most likely the lease was applied just now.
    const bool changed =
        answer.kind == MongoWriteAnswer::Kind::done || answer.server_code == kMongoDuplicateKey;
    if (!changed) return failed(std::move(answer.error));
  }
  return failed({ErrorCode::UNAVAILABLE,
                 fmt::format("the record of lease \"{}\" changes at every read; is the state "
                             "directory in use twice?",
                             slot_of(request))});
}

}  // namespace seqd
