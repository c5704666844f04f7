// BatchQueue: batches leases, look-ups of leases, or returns for a BlockingStore. A store that
// accepts several at once gets all that were requested while its previous batch was running; no
// request is delayed to fill a batch. Loop thread.
//
// Calls under way keep it alive; the worker outlives it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "daemon/base/worker.h"
#include "daemon/store/blocking_store.h"

namespace seqd {

template <typename Request, typename Outcome>
class BatchQueue : public std::enable_shared_from_this<BatchQueue<Request, Outcome>> {
 public:
  using Done = std::function<void(Outcome)>;
  using Verb = std::vector<Outcome> (BlockingStore::*)(std::span<const Request>);

  BatchQueue(std::shared_ptr<BlockingStore> store, Worker& worker, Verb verb)
      : store_(std::move(store)), worker_(worker), verb_(verb) {}

  // `done` runs on the loop thread, later.
  void add(const Request& request, Done done) {
    ASSERT(done);
    waiting_.emplace_back(request, std::move(done));
    if (!busy_) send();
  }

 private:
  void send() {
    struct Call {
      std::vector<Request> requests;
      std::vector<Done> done;
      std::vector<Outcome> outcomes;
    };
    const std::size_t together = store_->leases_together();
    ASSERT(!waiting_.empty() && together > 0);
    const auto call = std::make_shared<Call>();
    for (std::size_t left = std::min(waiting_.size(), together); left > 0; --left) {
      call->requests.push_back(std::move(waiting_.front().first));
      call->done.push_back(std::move(waiting_.front().second));
      waiting_.pop_front();
    }
    busy_ = together > 1;
    worker_.submit(
        [call, store = store_, verb = verb_] { call->outcomes = (*store.*verb)(call->requests); },
        [call, self = this->shared_from_this()] {
          ASSERT(call->outcomes.size() == call->done.size());
          for (std::size_t at = 0; at < call->done.size(); ++at)
            call->done[at](std::move(call->outcomes[at]));
          if (self->store_->has_chores())
            self->worker_.submit([store = self->store_] { store->do_chores(); }, [] {});
          self->busy_ = false;
          if (!self->waiting_.empty()) self->send();
        });
  }

  const std::shared_ptr<BlockingStore> store_;
  Worker& worker_;
  const Verb verb_;
  std::deque<std::pair<Request, Done>> waiting_;
  bool busy_ = false;  // a batch is running
};

}  // namespace seqd
