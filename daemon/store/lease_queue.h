// LeaseQueue: leases on their way to a BlockingStore. A store that takes several together gets what
// has come while it was busy with those before, so none waits for another to come. Loop thread.
//
// Kept alive by the calls under way; the worker outlives it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "daemon/base/worker.h"
#include "daemon/store/blocking_store.h"

namespace seqd {

class LeaseQueue : public std::enable_shared_from_this<LeaseQueue> {
 public:
  using Done = std::function<void(LeaseOutcome)>;

  LeaseQueue(std::shared_ptr<BlockingStore> store, Worker& worker)
      : store_(std::move(store)), worker_(worker) {}

  // `done` runs on the loop thread, later.
  void add(const LeaseRequest& request, Done done);

 private:
  void send();

  const std::shared_ptr<BlockingStore> store_;
  Worker& worker_;
  std::deque<std::pair<LeaseRequest, Done>> waiting_;
  bool busy_ = false;  // with leases of a store that takes several together
};

}  // namespace seqd
