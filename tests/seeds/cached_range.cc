#include "tests/seeds/old_code.h"

namespace seqd::seeds {
namespace {

constexpr std::int64_t kRange = 10;
constexpr std::int64_t kFirst = 1000;

}  // namespace

CachedRange::CachedRange(const Database& database, const std::string& name, IssueLog& log)
    : log_(log), counter_(database.client, database.name, {"ids", name, "index"}, Written::int32) {
  counter_.make(kFirst);
}

std::optional<std::int64_t> CachedRange::next() {
  std::unique_lock lock(mutex_);
  Waiter waiter;
  waiters_.push_back(&waiter);
  serve();
  if (!waiter.done && !fetching_) {
    fetching_ = true;
    while (!waiters_.empty()) fetch(lock);
    fetching_ = false;
  }
  served_.wait(lock, [&waiter] { return waiter.done; });
  return waiter.id;
}

void CachedRange::serve() {
  while (!waiters_.empty() && next_ < index_) {
    waiters_.front()->id = next_;
    waiters_.front()->done = true;
    waiters_.pop_front();
    log_.id(next_);
    ++next_;
  }
  served_.notify_all();
}

// One request in flight; meanwhile others may join the queue.
void CachedRange::fetch(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  log_.ask();
  const Moved moved = counter_.add(kRange, false);
  lock.lock();
  if (moved.kind == Moved::Kind::moved) {
    index_ = moved.number;
    next_ = index_ - kRange;
    log_.block(next_, index_);
    serve();
    return;
  }
  if (moved.kind == Moved::Kind::missing) give_up(moved.error);
  log_.failed();
  for (Waiter* waiter : waiters_) waiter->done = true;
  waiters_.clear();
  served_.notify_all();
}

}  // namespace seqd::seeds
