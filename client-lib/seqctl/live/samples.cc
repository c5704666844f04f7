#include "client-lib/seqctl/live/samples.h"

#include <algorithm>

#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/live/pause.h"

namespace seqd::seqctl {

bool Samples::next() {
  if (most_ > 0 && samples_ >= most_) return false;
  ++samples_;
  if (!pause_until(begin_ + due_ * interval_, out_)) return false;
  due_ = std::max(due_, (Clock::now() - begin_) / interval_) + 1;
  return true;
}

std::int64_t Samples::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin_).count();
}

}  // namespace seqd::seqctl
