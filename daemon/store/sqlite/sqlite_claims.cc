// The identity, the claims and the heartbeats of a SqliteStore: a part of sqlite_store.h.
#include <fmt/format.h>

#include <cstring>

#include "daemon/store/sqlite/sqlite_change.h"

namespace seqd {

Status SqliteStore::read_identity() {
  auto statement = connection_->prepare("SELECT identity FROM identity");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  const int code = query.step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) return connection_->error();
  const std::string_view bytes = code == SQLITE_ROW ? query.blob(0) : std::string_view();
  if (bytes.size() != identity_.size()) {
    return {
        ErrorCode::STORE_REFUSED,
        fmt::format("SQLite file {}, table identity: one row with a blob of {} bytes is needed; "
                    "restore the file from a backup and move every sequence forward (seqctl "
                    "advance)",
                    path_, identity_.size())};
  }
  std::memcpy(identity_.data(), bytes.data(), bytes.size());
  return {};
}

Result<BeatOutcome> SqliteStore::beat(const BeatRequest& request) {
  auto outcome = change(
      OlderCopy::refused, [&] { return beat_in_transaction(request); },
      [&](const BeatOutcome& beat) { return !beat.older && request.raise; });
  if (outcome.status().code() != ErrorCode::SEQ_REGRESSED) return outcome;
  return BeatOutcome{.older = true, .beat = 0, .why = outcome.status()};
}

Result<BeatOutcome> SqliteStore::beat_in_transaction(const BeatRequest& request) {
  const auto read = [&]() -> Result<std::optional<std::int64_t>> {
    SqliteQuery query(statements_.read_beat);
    const int code = query.bind_blob(1, request.instance.data(), request.instance.size()).step();
    if (code == SQLITE_ROW) return std::optional(query.integer(0));
    if (code == SQLITE_DONE) return std::optional<std::int64_t>();
    return connection_->error();
  };
  auto found = read();
  if (!found.ok()) return found.status();
  if (is_older(request.known, *found)) return BeatOutcome{true, found->value_or(0), {}};
  if (!request.raise) return BeatOutcome{false, found->value_or(0), {}};
  {
    SqliteQuery query(statements_.write_beat);
    query.bind_blob(1, request.instance.data(), request.instance.size()).bind(2, request.known + 1);
    if (query.step() != SQLITE_DONE) return connection_->error();
  }
  found = read();
  if (!found.ok()) return found.status();
  return BeatOutcome{false, found->value_or(0), {}};
}

Status SqliteStore::check_age(const Token& instance, std::int64_t heartbeat, bool* restored) {
  if (heartbeat == 0) return {};
  auto found = beat_in_transaction({instance, heartbeat, false});
  if (!found.ok()) return found.status();
  *restored = found->older;
  return found->older ? older_copy("SQLite file " + path_, heartbeat, found->beat) : Status();
}

Result<ClaimOutcome> SqliteStore::claim(const ClaimRequest& request) {
  return change(
      request.resumes ? OlderCopy::accepted : OlderCopy::refused,
      [&] { return claim_in_transaction(request); },
      [](ClaimOutcome outcome) { return outcome != ClaimOutcome::lost; });
}

Result<ClaimOutcome> SqliteStore::claim_in_transaction(const ClaimRequest& request) {
  constexpr auto kHighestEpoch = static_cast<std::uint64_t>(kHighestId);
  if (request.epoch >= kHighestEpoch) {
    return Status(ErrorCode::STATE_CORRUPT,
                  fmt::format("epoch {} of instance {} is invalid: it counts starts", request.epoch,
                              to_hex(request.instance)));
  }
  const auto epoch = static_cast<std::int64_t>(request.epoch);
  const SqliteStatement* write = &statements_.create_epoch;
  {
    SqliteQuery query(statements_.read_epoch);
    const int code = query.bind_blob(1, request.instance.data(), request.instance.size()).step();
    if (code == SQLITE_ROW) {
      const std::int64_t held = query.integer(0);
      const std::string_view nonce = query.blob(1);
      if (held == epoch + 1 && nonce.size() == request.nonce.size() &&
          std::memcmp(nonce.data(), request.nonce.data(), nonce.size()) == 0) {
        return ClaimOutcome::won;  // by an earlier delivery of this very claim
      }
      if (held != epoch || epoch == 0) return ClaimOutcome::lost;
      write = &statements_.write_epoch;
    } else if (code != SQLITE_DONE) {
      return connection_->error();
    } else if (epoch != 0) {
      return ClaimOutcome::lost;  // the epoch of an unknown instance cannot be verified
    }
  }
  SqliteQuery query(*write);
  query.bind_blob(1, request.instance.data(), request.instance.size())
      .bind(2, epoch + 1)
      .bind_blob(3, request.nonce.data(), request.nonce.size());
  if (query.step() != SQLITE_DONE) return connection_->error();
  return ClaimOutcome::won;
}

}  // namespace seqd
