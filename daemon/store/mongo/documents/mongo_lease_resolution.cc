// MongoLeaseRecords: what became of a lease whose outcome is unknown.
#include <fmt/format.h>

#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/documents/mongo_lease_records.h"
#include "daemon/store/mongo/driver/mongo_numbered_writes.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // of a look-up whose record changes meanwhile

// Whether a look-up may make the counter. Where its key has an index of its own, that would have to
// be looked at first; such a lease is given up instead.
bool may_create(const LeaseRequest& request) {
  return request.binding.create && request.binding.key_field == "_id";
}

Resolution failed(Status error) {
  return {.kind = Resolution::Kind::failed, .begin = 0, .end = 0, .error = std::move(error)};
}

Resolution absent() {
  return {.kind = Resolution::Kind::absent, .begin = 0, .end = 0, .error = {}};
}

Resolution untraceable() {
  return {.kind = Resolution::Kind::untraceable, .begin = 0, .end = 0, .error = {}};
}

Resolution found_granted(LeasedSpan span, bool parked = false) {
  return {.kind = Resolution::Kind::granted,
          .begin = span.begin,
          .end = span.end,
          .error = {},
          .parked = parked};
}

}  // namespace

Resolution MongoLeaseRecords::resolve(const LeaseRequest& request, bool* refused_by_validator) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (Found found = resolve_once(request, refused_by_validator)) return std::move(*found);
  }
  return failed({ErrorCode::UNAVAILABLE,
                 fmt::format("the record of lease \"{}\" changes at every read; is the state "
                             "directory in use twice?",
                             slot_of(request))});
}

// The rows of the table in the header.
MongoLeaseRecords::Found MongoLeaseRecords::resolve_once(const LeaseRequest& request,
                                                         bool* refused_by_validator) {
  const auto document = clients_.read(record_collection(request), record_filter(request));
  if (!document.ok()) return failed(document.status());
  std::optional<LeaseRecord> record;
  if (document->has_value()) {
    const auto read = record_in(**document, request, clients_);
    if (!read.ok()) return failed(read.status());
    record = *read;
  }
  const bool has_counter = document->has_value() || in_ledger(request);
  if (!has_counter && (request.high_water > 0 || !may_create(request))) return untraceable();
  learn(request, record);
  if (record && record->token == request.token) return resolve_own(request, *record);
  if (!record) {
    const auto certain = never_made(request);
    if (!certain.ok()) return failed(certain.status());
    if (!*certain) return untraceable();
  }
  if (has_counter) {
    const auto seen = record ? std::optional(record->token) : std::nullopt;
    return make_void(request, voiding(request, seen), refused_by_validator);
  }
  const Result<MongoWrite> creation = void_counter(request);
  if (!creation.ok()) return failed(creation.status());
  return make_void(request, *creation, refused_by_validator);
}

MongoLeaseRecords::Found MongoLeaseRecords::resolve_own(const LeaseRequest& request,
                                                        const LeaseRecord& record) {
  switch (record.state) {
    case LeaseRecord::State::granted:
      return found_granted(record.span);
    case LeaseRecord::State::parked:
      return found_granted(record.span, true);
    case LeaseRecord::State::voided:
      return absent();
    case LeaseRecord::State::forgotten:
      return untraceable();
    case LeaseRecord::State::sent:
      break;
  }
  return resolve_sent(request, record);
}

// Makes the token void by a write with the number and the statement of the lease. The server
// applies one of the two, and answers with the document that the applied one left:
//
//   the server                                 the lease is
//   applies the voiding: answers the record    absent
//   has applied the lease: the counter         granted, up to the number in the counter
//   has forgotten the number, or its answer    untraceable; the record becomes "forgotten"
//
// That it remembers the number is known by the statement that announced the lease.
MongoLeaseRecords::Found MongoLeaseRecords::resolve_sent(const LeaseRequest& request,
                                                         const LeaseRecord& record) {
  ASSERT(record.state == LeaseRecord::State::sent && record.token == request.token);
  MongoNumberedWrites writes(clients_, request);
  const Result<bool> remembered = writes.remembers(kMongoLedger, record.sent.statement);
  if (!remembered.ok()) return failed(remembered.status());
  MongoWriteAnswer answer;
  if (*remembered) {
    MongoWrite write = voiding(request, record.token);
    write.returned_field.clear();
    answer = writes.find_and_modify(write);
  }
  const bool forgotten = !*remembered || MongoNumberedWrites::is_forgotten(answer.server_code);
  // The answer can be requested once more, and must be the same.
  if (forgotten)
    answer =
        clients_.find_and_modify(voiding(request, record.token, LeaseRecord::State::forgotten));
  if (answer.kind != MongoWriteAnswer::Kind::done) return failed(answer.error);
  if (!answer.document) return std::nullopt;
  learn(request, LeaseRecord{.token = request.token});
  if (forgotten) return untraceable();
  if (is_void_in_ledger(*answer.document, request)) return absent();
  const CounterNumber number =
      read_counter_number(answer.document->get(), request.binding.counter_field);
  const auto span = span_added(number, record.sent.meaning, record.sent.count);
  return span ? found_granted(*span) : untraceable();
}

// Sends `write`, which makes the token void.
MongoLeaseRecords::Found MongoLeaseRecords::make_void(const LeaseRequest& request,
                                                      const MongoWrite& write,
                                                      bool* refused_by_validator) {
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind == MongoWriteAnswer::Kind::done && answer.document) {
    learn(request, LeaseRecord{.token = request.token});
    return absent();
  }
  if (answer.server_code == kMongoValidationFailure) {
    if (refused_by_validator != nullptr) *refused_by_validator = true;
    return untraceable();
  }
  // Most likely the lease was applied just now.
  const bool changed =
      answer.kind == MongoWriteAnswer::Kind::done || answer.server_code == kMongoDuplicateKey;
  if (changed) return std::nullopt;
  return failed(std::move(answer.error));
}

}  // namespace seqd
