#include "client-lib/seqctl/awaiting.h"

#include <algorithm>

#include "client-lib/seqctl/interruption.h"

namespace seqd::seqctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kInterruptionCheck{100};  // how often it checks for an interruption
constexpr milliseconds kMoment{500};

}  // namespace

// How long to wait for an answer that is not here. 0: not at all.
std::int64_t Awaiting::patience_ms() {
  if (!is_interrupted()) return kInterruptionCheck.count();
  const auto now = steady_clock::now();
  if (!ends_) ends_ = now + kMoment;
  const auto left = std::chrono::ceil<milliseconds>(*ends_ - now);
  return std::clamp(left, milliseconds{0}, kInterruptionCheck).count();
}

bool Awaiting::next(seqd_reply& reply, int& code, std::string& error) {
  while (seqd_pending(client_) > 0) {
    const std::int64_t wait_ms = patience_ms();
    std::size_t used = 0;
    const int polled = seqd_poll(client_, wait_ms, &reply, sizeof(seqd_reply), 1, &used);
    if (polled != SEQD_OK) {
      code = polled;
      error = seqd_last_error(client_);
      return false;
    }
    if (used > 0) return true;
    if (wait_ms == 0) {
      unanswered_ = seqd_pending(client_);
      return false;
    }
  }
  return false;
}

std::string unanswered_text(std::size_t requests) {
  return std::to_string(requests) +
         " requests were not answered; the daemon drops those that wait; if it answered one at "
         "this moment, the history has its IDs (seqctl explain)";
}

}  // namespace seqd::seqctl
