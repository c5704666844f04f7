#include "client-lib/seqctl/awaiting.h"

#include <cstdint>

#include "client-lib/seqctl/interruption.h"

namespace seqd::seqctl {
namespace {

// How often it looks whether it was interrupted, and how many times after that.
constexpr std::int64_t kLookMs = 100;
constexpr int kLooksForTheRest = 5;

}  // namespace

bool Awaiting::gives_up() {
  if (!is_interrupted() || ++looks_ <= kLooksForTheRest) return false;
  unanswered_ = seqd_pending(client_);
  return true;
}

bool Awaiting::next(seqd_reply& reply, int& code, std::string& error) {
  while (seqd_pending(client_) > 0 && !gives_up()) {
    std::size_t used = 0;
    const int polled = seqd_poll(client_, kLookMs, &reply, sizeof(seqd_reply), 1, &used);
    if (polled != SEQD_OK) {
      code = polled;
      error = seqd_last_error(client_);
      return false;
    }
    if (used > 0) return true;
  }
  return false;
}

std::string unanswered_text(std::size_t requests) {
  return std::to_string(requests) +
         " requests were not answered; the daemon drops those that wait, and the history has the "
         "IDs of one that it answered just then (seqctl explain)";
}

}  // namespace seqd::seqctl
