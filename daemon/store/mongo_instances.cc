#include "daemon/store/mongo_instances.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace seqd {
namespace {

// Whether the document says that this very claim won.
bool is_won_by(const Document& document, const ClaimRequest& request) {
  bson_iter_t found;
  if (!find_field(document.get(), "epoch", &found) || !BSON_ITER_HOLDS_INT64(&found)) return false;
  if (bson_iter_int64(&found) != static_cast<std::int64_t>(request.epoch) + 1) return false;
  if (!find_field(document.get(), "nonce", &found) || !BSON_ITER_HOLDS_BINARY(&found)) return false;
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;
  bson_iter_binary(&found, nullptr, &size, &data);
  return size == request.nonce.size() && std::memcmp(data, request.nonce.data(), size) == 0;
}

}  // namespace

Result<ClaimOutcome> MongoInstances::claim(const ClaimRequest& request) {
  if (request.epoch >= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return Status(ErrorCode::STATE_CORRUPT,
                  fmt::format("epoch {} of instance {} cannot be: it counts starts", request.epoch,
                              to_hex(request.instance)));
  }
  if (request.epoch == 0) return create(request);
  const auto epoch = static_cast<std::int64_t>(request.epoch);
  MongoWrite write;
  write.collection = kMongoInstances;
  write.filter.add("_id", to_hex(request.instance)).add("epoch", epoch);
  write.update.add(
      "$set", Document().add("epoch", epoch + 1).add_binary("nonce", request.nonce).add_now("at"));
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
  if (answer.document) return ClaimOutcome::won;
  // Not at that epoch any more: it was us if our nonce stands there, from an earlier delivery.
  auto read = clients_.read(kMongoInstances, Document().add("_id", to_hex(request.instance)));
  if (!read.ok()) return read.status();
  return read->has_value() && is_won_by(**read, request) ? ClaimOutcome::won : ClaimOutcome::lost;
}

Result<bool> MongoInstances::has_all_records(const Token& instance) {
  auto read = clients_.read(kMongoInstances, Document().add("_id", to_hex(instance)));
  if (!read.ok()) return read.status();
  if (!read->has_value()) return false;
  bson_iter_t found;
  return !find_field((*read)->get(), "swept", &found);
}

Result<std::vector<Document>> MongoInstances::sessions(const Token& instance) {
  auto read = clients_.read(kMongoInstances, Document().add("_id", to_hex(instance)));
  if (!read.ok()) return read.status();
  std::vector<Document> found;
  bson_iter_t list;
  bson_iter_t item;
  if (!read->has_value() || !find_field((*read)->get(), "sessions", &list) ||
      !BSON_ITER_HOLDS_ARRAY(&list) || !bson_iter_recurse(&list, &item))
    return found;
  while (bson_iter_next(&item)) {
    if (!BSON_ITER_HOLDS_DOCUMENT(&item)) continue;
    const std::uint8_t* data = nullptr;
    std::uint32_t size = 0;
    bson_iter_document(&item, &size, &data);
    bson_t view;
    if (bson_init_static(&view, data, size)) found.emplace_back(&view);
  }
  return found;
}

Status MongoInstances::add_session(const Token& instance, const Document& session_id, bool only,
                                   std::size_t most, const MongoConnection& connection) {
  const Document added = std::move(Document().add("0", session_id));
  MongoWrite write;
  write.collection = kMongoInstances;
  write.filter.add("_id", to_hex(instance));
  if (only) {
    write.update.add("$set", Document().add_array("sessions", added));
  } else {
    write.update.add(
        "$push",
        Document().add(
            "sessions",
            Document().add_array("$each", added).add("$slice", -static_cast<std::int64_t>(most))));
  }
  write.returned_field = "_id";
  MongoWriteAnswer answer = clients_.find_and_modify(write, connection);
  return answer.kind == MongoWriteAnswer::Kind::done ? Status() : answer.error;
}

Status MongoInstances::note_swept(const std::string& instance) {
  MongoWrite write;
  write.collection = kMongoInstances;
  write.filter.add("_id", instance);
  write.update.add("$currentDate", Document().add("swept", true));
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  return answer.kind == MongoWriteAnswer::Kind::done ? Status() : answer.error;
}

Result<ClaimOutcome> MongoInstances::create(const ClaimRequest& request) {
  MongoWrite write;
  write.collection = kMongoInstances;
  write.filter.add("_id", to_hex(request.instance));
  write.update.add(
      "$setOnInsert",
      Document().add("epoch", std::int64_t{1}).add_binary("nonce", request.nonce).add_now("at"));
  write.upsert = true;
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
  return answer.document && is_won_by(*answer.document, request) ? ClaimOutcome::won
                                                                 : ClaimOutcome::lost;
}

}  // namespace seqd
