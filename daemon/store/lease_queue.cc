#include "daemon/store/lease_queue.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace seqd {

void LeaseQueue::add(const LeaseRequest& request, Done done) {
  waiting_.emplace_back(request, std::move(done));
  if (!busy_) send();
}

void LeaseQueue::send() {
  struct Call {
    std::vector<LeaseRequest> requests;
    std::vector<Done> done;
    std::vector<LeaseOutcome> outcomes;
  };
  const std::size_t together = store_->leases_together();
  const auto call = std::make_shared<Call>();
  for (std::size_t left = std::min(waiting_.size(), together); left > 0; --left) {
    call->requests.push_back(std::move(waiting_.front().first));
    call->done.push_back(std::move(waiting_.front().second));
    waiting_.pop_front();
  }
  busy_ = together > 1;
  worker_.submit([call, store = store_] { call->outcomes = store->lease_all(call->requests); },
                 [call, self = shared_from_this()] {
                   ASSERT(call->outcomes.size() == call->done.size());
                   for (std::size_t at = 0; at < call->done.size(); ++at)
                     call->done[at](std::move(call->outcomes[at]));
                   if (self->store_->has_chores())
                     self->worker_.submit([store = self->store_] { store->do_chores(); }, [] {});
                   self->busy_ = false;
                   if (!self->waiting_.empty()) self->send();
                 });
}

}  // namespace seqd
