// How a SqliteStore changes its file for one request: a part of sqlite_store.h.
#pragma once

#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {

template <typename Body, typename Keeps>
auto SqliteStore::change(Body body, Keeps keeps) -> decltype(body()) {
  const std::lock_guard lock(mutex_);
  if (Status status = begin(); !status.ok()) return status;
  auto result = body();
  if (!result.ok() || !keeps(*result)) {
    abandon();
    return result;
  }
  bool maybe_applied = false;
  if (Status status = commit(&maybe_applied); !status.ok()) {
    abandon();
    return status;
  }
  return result;
}

}  // namespace seqd
