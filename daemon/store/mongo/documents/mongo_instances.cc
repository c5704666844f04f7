#include "daemon/store/mongo/documents/mongo_instances.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace seqd {
namespace {

// Beside the documents of instances, whose keys are 32 digits.
constexpr char kIdentityKey[] = "identity";

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

// The heartbeat in an entry; none where there is no entry, or no heartbeat in it.
std::optional<std::int64_t> beat_in(const std::optional<Document>& entry) {
  bson_iter_t found;
  if (!entry || !find_field(entry->get(), "beat", &found) || !BSON_ITER_HOLDS_INT(&found))
    return std::nullopt;
  return bson_iter_as_int64(&found);
}

BeatOutcome outcome_of(const std::optional<Document>& entry, std::int64_t known) {
  const std::optional<std::int64_t> beat = beat_in(entry);
  return {is_older(known, beat), beat.value_or(0), {}};
}

}  // namespace

// Majority decides which of several candidates it is, as it does for every write.
Result<Token> MongoInstances::identify(const Token& candidate) {
  MongoWrite write;
  write.collection = kMongoInstances;
  write.filter.add("_id", kIdentityKey);
  write.update.add("$setOnInsert", Document().add_binary("identity", candidate).add_now("at"));
  write.upsert = true;
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
  bson_iter_t found;
  Token identity{};
  if (answer.document && find_field(answer.document->get(), "identity", &found) &&
      BSON_ITER_HOLDS_BINARY(&found)) {
    const std::uint8_t* data = nullptr;
    std::uint32_t size = 0;
    bson_iter_binary(&found, nullptr, &size, &data);
    if (size == identity.size()) {
      std::memcpy(identity.data(), data, size);
      return identity;
    }
  }
  return Status(ErrorCode::STORE_REFUSED,
                fmt::format("{}: the document {{_id: \"{}\"}} has no binary field \"identity\" of "
                            "{} bytes; restore it from a backup",
                            clients_.where(kMongoInstances), kIdentityKey, identity.size()));
}

Result<ClaimOutcome> MongoInstances::claim(const ClaimRequest& request) {
  if (request.epoch >= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return Status(ErrorCode::STATE_CORRUPT,
                  fmt::format("epoch {} of instance {} is invalid: it counts starts", request.epoch,
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

// The filter has no match where the entry is gone, older, or that of an instance that was
// forgotten.
Result<BeatOutcome> MongoInstances::beat(const BeatRequest& request) {
  if (!request.raise) return compare(request.instance, request.known);
  MongoWrite write;
  write.collection = kMongoInstances;
  write.filter.add("_id", to_hex(request.instance)).add("epoch", Document().add("$exists", true));
  if (request.known > 0) write.filter.add("beat", Document().add("$gte", request.known));
  write.update.add("$max", Document().add("beat", request.known + 1))
      .add("$currentDate", Document().add("at", true));
  write.returned_field = "beat";
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
  if (answer.document) return outcome_of(answer.document, request.known);
  return look(request.instance, request.known);
}

// A majority's view is cheap, and never older than what a majority confirmed, but for that of a
// primary that was replaced without knowing it: so an older one is looked at once more.
Result<BeatOutcome> MongoInstances::compare(const Token& instance, std::int64_t known) {
  const Document match = std::move(Document().add("_id", to_hex(instance)));
  auto entry =
      clients_.aggregate(kMongoInstances, Document().add("0", Document().add("$match", match)));
  if (!entry.ok()) return entry.status();
  const BeatOutcome seen = outcome_of(*entry, known);
  return seen.older ? look(instance, known) : Result<BeatOutcome>(seen);
}

Result<BeatOutcome> MongoInstances::look(const Token& instance, std::int64_t known) {
  auto read = clients_.read(kMongoInstances, Document().add("_id", to_hex(instance)));
  if (!read.ok()) return read.status();
  return outcome_of(*read, known);
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
    if (auto session = document_at(item)) found.push_back(std::move(*session));
  }
  return found;
}

Status MongoInstances::add_session(const Token& instance, const Document& session_id,
                                   std::size_t most, const MongoConnection& connection) {
  const Document added = std::move(Document().add("0", session_id));
  MongoWrite write;
  write.collection = kMongoInstances;
  write.filter.add("_id", to_hex(instance));
  write.update.add(
      "$push",
      Document().add(
          "sessions",
          Document().add_array("$each", added).add("$slice", -static_cast<std::int64_t>(most))));
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
