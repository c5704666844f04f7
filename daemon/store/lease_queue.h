// LeaseQueue: batches leases for a BlockingStore. A store that accepts several at once gets all
// that were requested while its previous batch was running; no lease is delayed to fill a batch.
// Loop thread.
//
// Calls under way keep it alive; the worker outlives it.
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
  bool busy_ = false;  // a batch is running
};

}  // namespace seqd
