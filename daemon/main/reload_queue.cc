#include "daemon/main/reload_queue.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

ReloadQueue::ReloadQueue(Clock& clock, Timers& timers, Reload reload)
    : clock_(clock), reload_(std::move(reload)), timer_(timers) {}

Status ReloadQueue::ask(UserId user, Done done) {
  if (!ending_.ok()) return ending_;
  if (!share_.allows(user, 1))
    return {ErrorCode::BUSY, std::to_string(current_.size() + waiting_.size()) +
                                 " requests wait for a reload already"};
  share_.take(user, 1);
  waiting_.emplace_back(user, std::move(done));
  if (!timer_.running() && !under_way_) schedule();
  return {};
}

void ReloadQueue::schedule() {
  const std::int64_t delay_ms = std::max<std::int64_t>(next_ms_ - clock_.monotonic_ms(), 0);
  timer_.start(delay_ms, [this] { run(); });
}

void ReloadQueue::stop(const Status& why) {
  ending_ = why;
  timer_.cancel();
  for (Waiting* const all : {&current_, &waiting_}) {
    for (const auto& [user, done] : std::exchange(*all, {})) done(why);
  }
}

void ReloadQueue::run() {
  ASSERT(!under_way_ && current_.empty() && !waiting_.empty());
  current_ = std::exchange(waiting_, {});
  under_way_ = true;
  reload_([this](const Result<ReloadReport>& report) { ended(report); });
}

void ReloadQueue::ended(const Result<ReloadReport>& report) {
  ASSERT(under_way_);
  under_way_ = false;
  next_ms_ = clock_.monotonic_ms() + kPauseMs;
  const Waiting heard = std::exchange(current_, {});
  for (const auto& [user, done] : heard) share_.release(user, 1);
  for (const auto& [user, done] : heard) done(report);
  if (!waiting_.empty() && !timer_.running()) schedule();
}

}  // namespace seqd
