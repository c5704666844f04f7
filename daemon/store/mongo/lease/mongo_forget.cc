#include "daemon/store/mongo/lease/mongo_forget.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/store/mongo/documents/mongo_binding.h"

namespace seqd {
namespace {

// Records in the ledger of sequences that the state directory does not know any more.
constexpr int kMostLeftOver = 1'000;

LeaseRequest lease_of_slot(const ForgetRequest& request, const ForgetRequest::LeaseSlot& slot) {
  LeaseRequest lease;
  lease.binding = slot.binding;
  lease.instance = request.instance;
  lease.sequence = slot.sequence;
  return lease;
}

}  // namespace

MongoForget::MongoForget(MongoClients& clients, MongoLeaseRecords& records,
                         const ForgetRequest& request)
    : clients_(clients),
      records_(records),
      instances_(clients),
      request_(request),
      name_(to_hex(request.instance)) {}

Result<InstanceRecords> MongoForget::run() {
  auto entry = clients_.read(kMongoInstances, Document().add("_id", name_));
  if (!entry.ok()) return entry.status();
  bson_iter_t epoch;
  found_.entry = entry->has_value() && find_field((*entry)->get(), "epoch", &epoch);
  if (found_.entry && !request_.only_look) {
    if (Status status = instances_.note_swept(name_); !status.ok()) return status;
  }
  for (const ForgetRequest::LeaseSlot& slot : request_.slots) {
    if (Status status = forget_slot(slot); !status.ok()) return status;
  }
  if (!request_.entry || request_.only_look) return found_;
  if (Status status = forget_rest(); !status.ok()) return status;
  if (Status status = forget_instance(); !status.ok()) return status;
  return found_;
}

// How many records a lease slot has is known by looking; it has one in each place at most.
Status MongoForget::forget_slot(const ForgetRequest::LeaseSlot& slot) {
  if (!check_mongo_binding(slot.binding).ok()) return {};  // nothing was ever leased there
  const LeaseRequest lease = lease_of_slot(request_, slot);
  Status status = forget_one(kMongoLedger, std::move(Document().add("_id", slot_of(lease))), "");
  if (!status.ok()) return status;
  const std::string field = mongo_slot_path(slot_of(lease));
  Document filter = key_filter(slot.binding);
  filter.add(field, Document().add("$exists", true));
  status = forget_one(slot.binding.collection, std::move(filter), field);
  if (status.ok() && !request_.only_look) records_.forget(lease);
  return status;
}

// The document, or a field of it.
Status MongoForget::forget_one(const std::string& collection, Document filter,
                               const std::string& field) {
  if (request_.only_look) {
    auto read = clients_.read(collection, filter);
    if (!read.ok()) return read.status();
    found_.records += read->has_value() ? 1 : 0;
    return {};
  }
  MongoWrite write;
  write.collection = collection;
  write.filter = std::move(filter);
  write.remove = field.empty();
  if (!field.empty()) write.update.add("$unset", Document().add(field, true));
  write.returned_field = "_id";
  const MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
  found_.records += answer.document ? 1 : 0;
  return {};
}

Status MongoForget::forget_rest() {
  // ';' follows the colon behind the instance.
  for (int removed = 0; removed < kMostLeftOver; ++removed) {
    const std::int64_t before = found_.records;
    Document filter = std::move(
        Document().add("_id", Document().add("$gte", name_ + ":").add("$lt", name_ + ";")));
    Status status = forget_one(kMongoLedger, std::move(filter), "");
    if (!status.ok() || found_.records == before) return status;
  }
  return {ErrorCode::UNAVAILABLE,
          fmt::format("{}: {} records of instance {} were removed and there are more; try again",
                      clients_.where(kMongoLedger), kMostLeftOver, name_)};
}

// The heartbeat stays: without it a copy of the state directory would take this database for an
// older copy.
Status MongoForget::forget_instance() {
  MongoWrite write;
  write.collection = kMongoInstances;
  write.filter.add("_id", name_).add("beat", Document().add("$exists", false));
  write.remove = true;
  write.returned_field = "_id";
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
  MongoWrite keep;
  keep.collection = kMongoInstances;
  keep.filter.add("_id", name_);
  keep.update.add("$unset", Document().add("epoch", true).add("nonce", true).add("sessions", true));
  keep.returned_field = "_id";
  answer = clients_.find_and_modify(keep);
  return answer.kind == MongoWriteAnswer::Kind::done ? Status() : answer.error;
}

}  // namespace seqd
