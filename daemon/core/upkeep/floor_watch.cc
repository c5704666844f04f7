#include "daemon/core/upkeep/floor_watch.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {
namespace {

constexpr int kReadsAtATime = 4;
constexpr std::int64_t kSoonMs = 1'000;

}  // namespace

void FloorWatch::set_interval(std::int64_t interval_ms) {
  if (interval_ms == interval_ms_) return;
  interval_ms_ = interval_ms;
  retry_ms_ = kSoonMs;
  timer_.cancel();
  // The end of a round under way brings the next.
  if (interval_ms_ > 0 && reads_ == 0) schedule(kSoonMs);
}

void FloorWatch::schedule(std::int64_t delay_ms) {
  timer_.start(delay_ms, [this] { begin_round(); });
}

void FloorWatch::begin_round() {
  ASSERT(reads_ == 0 && interval_ms_ > 0);
  left_.clear();
  away_.clear();
  missed_ = false;
  table_.scopes().beat();
  for (const Sequence* sequence : table_.sequences().all()) {
    // What is left of another counter is not compared with the one that is configured.
    const bool is_of_it = is_configured(*sequence);
    if (is_of_it && sequence->available() + sequence->out() > 0) left_.push_back(sequence->id());
  }
  read_next();
}

void FloorWatch::read_next() {
  while (reads_ < kReadsAtATime && !left_.empty() && interval_ms_ > 0) {
    read(left_.front());
    left_.pop_front();
  }
  if (reads_ > 0 || interval_ms_ == 0) return;
  retry_ms_ = missed_ ? std::min(retry_ms_ * 2, interval_ms_) : kSoonMs;
  schedule(missed_ ? retry_ms_ : interval_ms_);
}

void FloorWatch::read(SequenceId id) {
  if (!table_.sequences().contains(id)) return;
  const StoreScope& scope = table_.at(id).scope();
  const std::string& store = scope.store_name();
  if (scope.store() == nullptr) return;  // not in the configuration any more
  if (!scope.verified() || away_.contains(store)) {
    missed_ = true;
    return;
  }
  ++reads_;
  table_.scopes().read_floor(id, [this, store](const Status& seen) {
    ASSERT(reads_ > 0 && reads_ <= kReadsAtATime);
    --reads_;
    if (!seen.ok() && error_info(seen.code()).retry == Retry::again) {
      missed_ = true;
      away_.insert(store);
    }
    read_next();
  });
}

}  // namespace seqd
