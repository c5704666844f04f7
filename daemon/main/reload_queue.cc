#include "daemon/main/reload_queue.h"

#include <algorithm>
#include <utility>

namespace seqd {

ReloadQueue::ReloadQueue(Clock& clock, Timers& timers, std::function<Result<ReloadReport>()> reload)
    : clock_(clock), timers_(timers), reload_(std::move(reload)) {}

ReloadQueue::~ReloadQueue() {
  timers_.cancel(timer_);
}

Status ReloadQueue::ask(UserId user, Done done) {
  if (!ending_.ok()) return ending_;
  if (!share_.allows(user, 1))
    return {ErrorCode::BUSY,
            std::to_string(waiting_.size()) + " requests wait for a reload already"};
  share_.take(user, 1);
  waiting_.emplace_back(user, std::move(done));
  if (timer_ != 0) return {};
  const std::int64_t delay_ms = std::max<std::int64_t>(next_ms_ - clock_.monotonic_ms(), 0);
  timer_ = timers_.schedule(delay_ms, [this] {
    timer_ = 0;
    run();
  });
  return {};
}

void ReloadQueue::stop(const Status& why) {
  ending_ = why;
  timers_.cancel(std::exchange(timer_, 0));
  for (const auto& [user, done] : std::exchange(waiting_, {})) done(why);
}

void ReloadQueue::run() {
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& [user, done] : waiting) share_.release(user, 1);
  const Result<ReloadReport> report = reload_();
  next_ms_ = clock_.monotonic_ms() + kPauseMs;
  for (const auto& [user, done] : waiting) done(report);
}

}  // namespace seqd
