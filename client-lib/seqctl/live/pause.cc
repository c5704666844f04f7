#include "client-lib/seqctl/live/pause.h"

#include <algorithm>

#include "client-lib/seqctl/interruption.h"

namespace seqd::seqctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kInterruptionCheck{100};  // how often it checks for an interruption

}  // namespace

bool pause_until(steady_clock::time_point end, Output& out) {
  while (!is_interrupted() && out.state() == Output::State::well) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds{0}) return true;
    out.wait_while_read(std::min(left, kInterruptionCheck).count());
  }
  return false;
}

}  // namespace seqd::seqctl
