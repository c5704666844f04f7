#include "client-lib/seqctl/interruption.h"

#include <atomic>
#include <csignal>

namespace seqd::seqctl {
namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler stores it");

extern "C" void note_signal(int) {
  g_interrupted.store(true);
}

}  // namespace

void watch_interruptions() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  // The second one has its usual effect.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() {
  return g_interrupted.load();
}

void set_interrupted(bool interrupted) {
  g_interrupted.store(interrupted);
}

}  // namespace seqd::seqctl
