// How a SqliteStore changes its file for one request, or a batch: a part of sqlite_store.h.
#pragma once

#include <utility>

#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {

template <typename Body, typename Keeps>
auto SqliteStore::change(OlderCopy older, Body body, Keeps keeps) -> decltype(body()) {
  const std::lock_guard lock(mutex_);
  if (Status status = begin_change(older); !status.ok()) return status;
  auto result = body();
  if (!result.ok() || !keeps(*result)) {
    roll_back();
    return result;
  }
  bool maybe_applied = false;
  if (Status status = commit(&maybe_applied); !status.ok()) {
    roll_back();
    return status;
  }
  return result;
}

template <typename Outcome, typename Request>
std::vector<Outcome> SqliteStore::batch(
    std::span<const Request> requests,
    std::vector<Outcome> (SqliteStore::*together)(std::span<const Request>, bool*)) {
  const std::lock_guard lock(mutex_);
  bool ended = false;
  std::vector<Outcome> outcomes = (this->*together)(requests, &ended);
  if (!ended || requests.size() == 1) return outcomes;
  // One request caused the rollback; it must not fail the others.
  for (std::size_t at = 0; at < requests.size(); ++at)
    outcomes[at] = std::move((this->*together)(requests.subspan(at, 1), &ended).front());
  return outcomes;
}

}  // namespace seqd
