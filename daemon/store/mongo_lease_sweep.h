// MongoLeaseSweep: takes away the records of leases that nobody will ask for: of instances that are
// gone. Runs when a lane makes its first record, which is when records become more. Thread-safe.
//
// Invariant: before a record is removed, its instance is marked in seqd_instances. A lease that is
// looked up after all is then untraceable, and never taken for one that was not applied. Age is by
// the server's clock alone.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "daemon/core/lease_store.h"
#include "daemon/store/mongo_client.h"

namespace seqd {

class MongoLeaseSweep {
 public:
  // A record that was not written for this long may go.
  static constexpr std::chrono::hours kKept{24 * 30};
  // Slots of one counter; above, those not written for the longest time go, whatever their age.
  static constexpr std::size_t kMostSlots = 1000;

  explicit MongoLeaseSweep(MongoClients& clients) : clients_(clients) {}

  // At most once an hour, and some at a time.
  void ledger();
  // The counter's, but for the one of the lease.
  void slots(const LeaseRequest& request);

 private:
  MongoClients& clients_;
  std::mutex mutex_;  // guards next_
  std::chrono::steady_clock::time_point next_;
};

}  // namespace seqd
