// MongoLeaseSweep: removes the records of leases that are no longer needed: of instances that no
// longer exist. Due when a lease slot has created its first record, which is when the number of
// records grows; a separate job, so that no lease waits for it. Thread-safe.
//
// Invariant: before a record is removed, its instance is marked in seqd_instances. A late look-up
// of its lease then returns untraceable, and never that it was not applied. Age is measured by the
// server's clock alone.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/core/leasing/lease_store.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoLeaseSweep {
 public:
  // A record that was not written for this long may go.
  static constexpr std::chrono::hours kKept{24 * 30};
  // Slots of one counter; above, those not written for the longest time are removed, at any age.
  static constexpr std::size_t kMostSlots = 1000;
  // Counters whose slots wait for the job; the first records of others are looked at next time.
  static constexpr std::size_t kMostWaiting = 64;

  explicit MongoLeaseSweep(MongoClients& clients) : clients_(clients) {}

  // A lease slot has made its first record. Cheap.
  void ledger_became_more();
  void slots_became_more(const LeaseRequest& request);

  bool is_due() const;
  // What is due: of the ledger at most once an hour, and some at a time; of a counter the slots but
  // the one of the lease. Two seconds, and what one call of the server takes.
  void run();

 private:
  using Time = std::chrono::steady_clock::time_point;
  void sweep_ledger(Time end);
  void sweep_slots(const LeaseRequest& request, Time end);

  MongoClients& clients_;
  mutable std::mutex mutex_;  // guards everything below
  bool ledger_due_ = false;
  bool indexed_ = false;  // the ledger, by the time of its records
  Time next_;
  std::vector<LeaseRequest> slots_due_;
};

}  // namespace seqd
