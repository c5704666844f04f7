#include "daemon/store/dynamo/lease/dynamo_instances.h"

#include <fmt/format.h>

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // 2 are the rule, where copies race
constexpr char kEpoch[] = "seqd_epoch";
constexpr char kNonce[] = "seqd_nonce";
constexpr char kAt[] = "seqd_at";
constexpr char kSwept[] = "seqd_swept";
constexpr char kBeat[] = "seqd_beat";
constexpr char kIdentity[] = "seqd_identity";

}  // namespace

DynamoKey instance_key(const DynamoInstances& instances, const std::string& digits) {
  return {instances.table, instances.key_field, "seqd-instance:" + digits};
}

DynamoKey identity_key(const DynamoInstances& instances) {
  return {instances.table, instances.key_field, "seqd-identity"};
}

void compare_heartbeat(const std::shared_ptr<DynamoClient>& client,
                       const DynamoInstances& instances, const Token& instance,
                       std::int64_t heartbeat,
                       const std::function<void(const Status& error, bool restored)>& done) {
  if (heartbeat == 0) return done({}, false);
  const std::string where = client->place_of(instance_key(instances, to_hex(instance)));
  run_plan<Result<BeatOutcome>>(
      client, std::make_shared<DynamoBeat>(instances, BeatRequest{instance, heartbeat, false}, 0),
      [done, where, heartbeat](const Result<BeatOutcome>& age) {
        if (!age.ok()) return done(age.status(), false);
        if (!age->older) return done({}, false);
        done(older_copy(where, heartbeat, age->beat), true);
      });
}

DynamoUpdate note_swept(const DynamoInstances& instances, const std::string& digits,
                        std::int64_t wall_ms) {
  DynamoUpdate update(instance_key(instances, digits));
  update.require_there(kEpoch).set(kSwept, dynamo_number(wall_ms / 1000));
  return update;
}

bool has_all_records(const std::optional<DynamoItem>& instance) {
  return instance && instance->contains(kEpoch) && !instance->contains(kSwept);
}

bool is_claimed(const std::optional<DynamoItem>& instance) {
  return instance && instance->contains(kEpoch);
}

DynamoUpdate without_claim(const DynamoInstances& instances, const std::string& digits) {
  DynamoUpdate update(instance_key(instances, digits));
  update.require_there(kEpoch).remove(kEpoch).remove(kNonce).remove(kAt).remove(kSwept);
  return update;
}

DynamoBeat::Step DynamoBeat::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return Result<BeatOutcome>(item.status());
  std::optional<std::int64_t> found;
  if (item->has_value() && (*item)->contains(kBeat)) found = dynamo_integer((*item)->at(kBeat));
  if (is_older(request_.known, found))
    return Result<BeatOutcome>(BeatOutcome{true, found.value_or(0), {}});
  const bool raises = request_.raise && is_claimed(*item) && found.value_or(0) <= request_.known;
  if (!raises) return Result<BeatOutcome>(BeatOutcome{false, found.value_or(0), {}});
  if (++attempts_ > kMostAttempts)
    return Result<BeatOutcome>(ErrorCode::UNAVAILABLE,
                               "the item of this instance changes at every read");
  DynamoUpdate update(key_);
  update.require_there(kEpoch);
  if (found) {
    update.require_equal(kBeat, dynamo_number(*found));
  } else {
    update.require_missing(kBeat);
  }
  update.set(kBeat, dynamo_number(request_.known + 1)).set(kAt, dynamo_number(wall_ms_ / 1000));
  return update;
}

DynamoBeat::Step DynamoBeat::after_update(DynamoAnswer answer) {
  if (answer.kind == DynamoAnswer::Kind::done)
    return Result<BeatOutcome>(BeatOutcome{false, request_.known + 1, {}});
  if (answer.kind == DynamoAnswer::Kind::mismatch) return key_;
  return Result<BeatOutcome>(std::move(answer.error));
}

DynamoIdentity::Step DynamoIdentity::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return Result<Token>(item.status());
  if (item->has_value() && (*item)->contains(kIdentity)) {
    const std::optional<Token> identity = from_hex((*item)->at(kIdentity).text);
    if (identity) return Result<Token>(*identity);
    return Result<Token>(ErrorCode::STORE_REFUSED,
                         where_ +
                             ": attribute seqd_identity is not the text of 32 hexadecimal "
                             "digits that it was; restore it from a backup");
  }
  if (++attempts_ > kMostAttempts)
    return Result<Token>(ErrorCode::UNAVAILABLE, where_ + " changes at every read");
  DynamoUpdate update(key_);
  update.require_missing(kIdentity).set(kIdentity, dynamo_text(to_hex(candidate_)));
  return update;
}

DynamoIdentity::Step DynamoIdentity::after_update(DynamoAnswer answer) {
  if (answer.kind == DynamoAnswer::Kind::done) return Result<Token>(candidate_);
  if (answer.kind == DynamoAnswer::Kind::mismatch) return key_;  // another host was faster
  return Result<Token>(std::move(answer.error));
}

DynamoClaim::Step DynamoClaim::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return Result<ClaimOutcome>(item.status());
  const auto wanted = static_cast<std::int64_t>(request_.epoch);
  const DynamoValue nonce = dynamo_text(to_hex(request_.nonce));
  std::optional<std::int64_t> held;
  if (item->has_value()) {
    const auto epoch = (*item)->find(kEpoch);
    const auto holder = (*item)->find(kNonce);
    if (epoch != (*item)->end()) held = dynamo_integer(epoch->second);
    // By an earlier delivery of this very claim.
    if (held && *held == wanted + 1 && holder != (*item)->end() &&
        holder->second.text == nonce.text)
      return Result<ClaimOutcome>(ClaimOutcome::won);
  }
  // The epoch is above 0, and the store does not know the instance: its owner cannot be determined.
  if (wanted == 0 ? item->has_value() : held != wanted)
    return Result<ClaimOutcome>(ClaimOutcome::lost);
  if (++attempts_ > kMostAttempts)
    return Result<ClaimOutcome>(
        Status(ErrorCode::UNAVAILABLE, "the item of this instance changes at every read"));
  DynamoUpdate update(key_);
  if (wanted == 0) {
    update.require_missing(key_.key_field);
  } else {
    update.require_equal(kEpoch, dynamo_number(wanted));
  }
  update.set(kEpoch, dynamo_number(wanted + 1))
      .set(kNonce, nonce)
      .set(kAt, dynamo_number(wall_ms_ / 1000));
  return update;
}

DynamoClaim::Step DynamoClaim::after_update(DynamoAnswer answer) {
  switch (answer.kind) {
    case DynamoAnswer::Kind::done:
      return Result<ClaimOutcome>(ClaimOutcome::won);
    case DynamoAnswer::Kind::mismatch:
      return key_;  // another daemon was faster, or an earlier delivery of this request
    case DynamoAnswer::Kind::refused:
    case DynamoAnswer::Kind::unknown:
      break;
  }
  return Result<ClaimOutcome>(std::move(answer.error));
}

}  // namespace seqd
