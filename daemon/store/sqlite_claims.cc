// The claims of a SqliteStore: a part of sqlite_store.h.
#include <fmt/format.h>

#include <cstring>

#include "daemon/store/sqlite_store.h"

namespace seqd {

Result<ClaimOutcome> SqliteStore::claim(const ClaimRequest& request) {
  const std::lock_guard lock(mutex_);
  if (Status status = run(statements_.begin); !status.ok()) return status;
  auto outcome = claim_in_transaction(request);
  if (!outcome.ok() || *outcome == ClaimOutcome::lost) {
    abandon();
    return outcome;
  }
  bool maybe_applied = false;
  if (Status status = commit(&maybe_applied); !status.ok()) {
    abandon();
    return status;
  }
  return outcome;
}

Result<ClaimOutcome> SqliteStore::claim_in_transaction(const ClaimRequest& request) {
  constexpr auto kHighestEpoch = static_cast<std::uint64_t>(kHighestId);
  if (request.epoch >= kHighestEpoch) {
    return Status(ErrorCode::STATE_CORRUPT,
                  fmt::format("epoch {} of instance {} cannot be: it counts starts", request.epoch,
                              to_hex(request.instance)));
  }
  const auto epoch = static_cast<std::int64_t>(request.epoch);
  const SqliteStatement* write = &statements_.create_epoch;
  {
    SqliteQuery query(statements_.read_epoch);
    const int code = query.bind_blob(1, request.instance.data(), request.instance.size()).step();
    if (code == SQLITE_ROW) {
      const std::int64_t held = query.integer(0);
      const std::string_view nonce = query.text(1);
      if (held == epoch + 1 && nonce.size() == request.nonce.size() &&
          std::memcmp(nonce.data(), request.nonce.data(), nonce.size()) == 0) {
        return ClaimOutcome::won;  // by an earlier delivery of this very claim
      }
      if (held != epoch || epoch == 0) return ClaimOutcome::lost;
      write = &statements_.write_epoch;
    } else if (code != SQLITE_DONE) {
      return connection_->error();
    } else if (epoch != 0) {
      return ClaimOutcome::lost;  // a store that never saw this instance cannot vouch for it
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
