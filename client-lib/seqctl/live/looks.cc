#include "client-lib/seqctl/live/looks.h"

#include <algorithm>

#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/live/pause.h"

namespace seqd::seqctl {

bool Looks::next() {
  if (most_ > 0 && looks_ >= most_) return false;
  ++looks_;
  if (!pause_until(begin_ + due_ * interval_, out_)) return false;
  due_ = std::max(due_, (Clock::now() - begin_) / interval_) + 1;
  return true;
}

std::int64_t Looks::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin_).count();
}

}  // namespace seqd::seqctl
