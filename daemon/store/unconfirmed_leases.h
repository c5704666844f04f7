// UnconfirmedLeases: plain leases that the store granted, behind which the heartbeat could not be
// compared yet. They left no record there: what is kept here is all that is known of their ranges.
// A daemon that is started again knows none of them, and they are untraceable. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/core/leasing/lease_store.h"

namespace seqd {

class UnconfirmedLeases {
 public:
  // Replaces what was kept of that lease slot.
  void keep(const LeaseRequest& request, const LeaseOutcome& granted);

  // What was granted to this very request. None where its heartbeat cannot be compared: whether the
  // database was an older copy then stays unknown.
  std::optional<Resolution> find(const LeaseRequest& request) const;

  void drop(const LeaseRequest& request);

 private:
  struct Kept {
    Token token{};
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Kept> leases_;  // by lease slot
};

}  // namespace seqd
