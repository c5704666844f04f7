#include "daemon/store/mongo_lease_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "daemon/store/mongo_binding.h"
#include "daemon/store/mongo_instances.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // of a look-up whose record changes meanwhile

bool in_ledger(const LeaseRequest& request) {
  return trace_of(request.token) == LeaseTrace::ledger;
}

// What stands before the name of a record's field.
std::string prefix_of(const LeaseRequest& request) {
  return in_ledger(request) ? "" : "seqd.slots." + lane_of(request) + ".";
}

Document record_filter(const LeaseRequest& request) {
  return in_ledger(request) ? std::move(Document().add("_id", lane_of(request)))
                            : key_filter(request.binding);
}

void require_newest(Document& filter, const std::string& prefix,
                    const std::optional<Token>& newest) {
  if (newest) {
    filter.add_binary(prefix + "token", *newest);
  } else {
    filter.add(prefix + "token", Document().add("$exists", false));
  }
}

const char* state_word(const LeaseRecord& record) {
  if (!record.granted) return "void";
  return record.parked ? "parked" : "granted";
}

// The fields of a record, at the server's time.
Document record_change(const LeaseRequest& request, const LeaseRecord& record, Document set = {}) {
  const std::string prefix = prefix_of(request);
  set.add_binary(prefix + "token", record.token)
      .add(prefix + "state", state_word(record))
      .add(prefix + "begin", record.span.begin)
      .add(prefix + "end", record.span.end);
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

std::optional<Token> MongoLeaseRecords::newest(const LeaseRequest& request) const {
  const std::lock_guard lock(mutex_);
  const auto found = newest_.find(lane(request));
  return found == newest_.end() ? std::nullopt : std::optional(found->second);
}

void MongoLeaseRecords::learn(const LeaseRequest& request,
                              const std::optional<LeaseRecord>& record) {
  const std::lock_guard lock(mutex_);
  if (record) {
    newest_[lane(request)] = record->token;
  } else {
    newest_.erase(lane(request));
  }
}

void MongoLeaseRecords::forget(const LeaseRequest& request) {
  const std::lock_guard lock(mutex_);
  for (const LeaseTrace trace : {LeaseTrace::plain, LeaseTrace::ledger, LeaseTrace::slot})
    newest_.erase({trace, lane_of(request)});
}

Status MongoLeaseRecords::begin_lane(const LeaseRequest& request) {
  LeaseRequest nobody = request;
  for (std::size_t at = nobody.token.size() / 2; at < nobody.token.size(); ++at)
    nobody.token[at] = static_cast<std::uint8_t>(~nobody.token[at]);
  const MongoWriteAnswer answer = clients_.find_and_modify(voiding(nobody, std::nullopt));
  // Where there is one by now, it will be found.
  const bool there = answer.server_code == kMongoDuplicateKey;
  return answer.kind == MongoWriteAnswer::Kind::done || there ? Status() : answer.error;
}

Result<std::optional<LeaseRecord>> MongoLeaseRecords::record_in(const Document& document,
                                                                const LeaseRequest& request) const {
  const std::string prefix = prefix_of(request);
  bson_iter_t found;
  for (const char* field : {"seqd", "seqd.slots"}) {
    if (in_ledger(request) || !find_field(document.get(), field, &found)) break;
    if (BSON_ITER_HOLDS_DOCUMENT(&found)) continue;
    return Status(
        ErrorCode::STORE_REFUSED,
        fmt::format("{}: the slots of leases are kept in seqd.slots, but {} is no object; "
                    "remove it, or set lease_mode = \"plain\"",
                    place_of(clients_, request.binding), field));
  }
  if (!find_field(document.get(), prefix + "token", &found)) return std::optional<LeaseRecord>();
  LeaseRecord record;
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;
  if (BSON_ITER_HOLDS_BINARY(&found)) bson_iter_binary(&found, nullptr, &size, &data);
  const bool whole = size == record.token.size();
  if (whole) std::memcpy(record.token.data(), data, size);
  if (find_field(document.get(), prefix + "state", &found) && BSON_ITER_HOLDS_UTF8(&found)) {
    const std::string state = bson_iter_utf8(&found, nullptr);
    record.parked = state == "parked";
    record.granted = record.parked || state == "granted";
  }
  if (find_field(document.get(), prefix + "begin", &found))
    record.span.begin = bson_iter_as_int64(&found);
  if (find_field(document.get(), prefix + "end", &found))
    record.span.end = bson_iter_as_int64(&found);
  if (whole && (!record.granted || record.span.begin < record.span.end))
    return std::optional(record);
  return Status(ErrorCode::STORE_REFUSED,
                fmt::format("{}: the record of lease \"{}\" is not one that seqd wrote; remove it "
                            "if it was edited by hand",
                            in_ledger(request) ? clients_.where(kMongoLedger)
                                               : place_of(clients_, request.binding),
                            lane_of(request)));
}

Result<std::optional<LeaseRecord>> MongoLeaseRecords::read_ledger(const LeaseRequest& request) {
  auto read = clients_.read(kMongoLedger, record_filter(request));
  if (!read.ok()) return read.status();
  if (!read->has_value()) return std::optional<LeaseRecord>();
  return record_in(**read, request);
}

MongoWrite MongoLeaseRecords::ledger_entry(const LeaseRequest& request, LeasedSpan span,
                                           bool parked) const {
  const std::optional<Token> expected = newest(request);
  MongoWrite write;
  write.collection = kMongoLedger;
  write.filter = record_filter(request);
  require_newest(write.filter, "", expected);
  write.update = record_change(
      request, {.token = request.token, .granted = true, .span = span, .parked = parked});
  write.returned_field = "_id";
  write.upsert = !expected.has_value();
  return write;
}

MongoWrite MongoLeaseRecords::slot_change(const LeaseRequest& request, const LeaseRecord& record,
                                          Document set) const {
  MongoWrite write;
  write.collection = request.binding.collection;
  write.filter = record_filter(request);
  require_newest(write.filter, prefix_of(request), newest(request));
  write.update = record_change(request, record, std::move(set));
  write.returned_field = "_id";
  return write;
}

void MongoLeaseRecords::add_slot(const LeaseRequest& request, Meaning meaning, std::int64_t count,
                                 MongoWrite& write) const {
  const std::string& number = request.binding.counter_field;
  require_newest(write.filter, prefix_of(request), newest(request));
  // The expressions below read the number otherwise than $inc does (a path through arrays); and
  // what somebody else may keep under our name stays as it is.
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
  set.add(number, plus(count)).add("seqd.slots." + lane_of(request), slot);
  write.update = std::move(Document().add("0", Document().add("$set", set)));
}

MongoWrite MongoLeaseRecords::voiding(const LeaseRequest& request,
                                      const std::optional<LeaseRecord>& seen) const {
  MongoWrite write;
  write.collection = in_ledger(request) ? kMongoLedger : request.binding.collection;
  write.filter = record_filter(request);
  require_newest(write.filter, prefix_of(request),
                 seen ? std::optional(seen->token) : std::nullopt);
  write.update = record_change(request, {.token = request.token, .granted = false, .span = {}});
  write.returned_field = "_id";
  write.upsert = in_ledger(request) && !seen;
  // The transaction of the lease itself may be open yet.
  write.max_time_ms = static_cast<std::uint32_t>(std::max(1, clients_.target().timeout_ms / 4 * 3));
  return write;
}

// The counter's first lease, and the counter was not there yet: it is made with the token given up,
// so that the request finds it so when it arrives after all.
MongoWrite MongoLeaseRecords::creation_with_void(const LeaseRequest& request) const {
  const CounterBinding& binding = request.binding;
  const Meaning meaning = meaning_of_new(binding);
  const std::string prefix = prefix_of(request);
  MongoWrite write;
  write.collection = binding.collection;
  write.filter = key_filter(binding);
  write.filter.add(binding.counter_field, Document().add("$exists", false));
  write.update.add("$set", Document()
                               .add(binding.counter_field, value_of(binding.first_id - 1, meaning))
                               .add("seqd.meaning", meaning_word(meaning))
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

Resolution MongoLeaseRecords::resolve(const LeaseRequest& request) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto document = clients_.read(in_ledger(request) ? kMongoLedger : request.binding.collection,
                                  record_filter(request));
    if (!document.ok()) return failed(document.status());
    std::optional<LeaseRecord> record;
    if (document->has_value()) {
      auto found = record_in(**document, request);
      if (!found.ok()) return failed(found.status());
      record = *found;
    } else if (!in_ledger(request) && (request.guard > 0 || !may_create(request))) {
      // The counter is gone, and with it whatever its slots said.
      return resolved(Resolution::Kind::untraceable);
    }
    learn(request, record);
    if (record && record->token == request.token) {
      return record->granted ? resolved(Resolution::Kind::granted, record->span, record->parked)
                             : resolved(Resolution::Kind::absent);
    }
    if (!record) {
      auto certain = never_made(request);
      if (!certain.ok()) return failed(certain.status());
      if (!*certain) return resolved(Resolution::Kind::untraceable);
    }
    MongoWriteAnswer answer = clients_.find_and_modify(document->has_value() || in_ledger(request)
                                                           ? voiding(request, record)
                                                           : creation_with_void(request));
    if (answer.kind == MongoWriteAnswer::Kind::done && answer.document) {
      learn(request, LeaseRecord{.token = request.token, .granted = false, .span = {}});
      return resolved(Resolution::Kind::absent);
    }
    // Otherwise the record changed since it was read: most likely the lease was applied just now.
    const bool changed =
        answer.kind == MongoWriteAnswer::Kind::done || answer.server_code == kMongoDuplicateKey;
    if (!changed) return failed(std::move(answer.error));
  }
  return failed({ErrorCode::UNAVAILABLE,
                 fmt::format("the record of lease \"{}\" changes at every look; is the state "
                             "directory in use twice?",
                             lane_of(request))});
}

}  // namespace seqd
