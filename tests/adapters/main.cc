// The runner of the adapter tests: Catch2's own main, with an end for a test that hangs.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

namespace seqd::testing {
namespace {

// Ends the run, and Catch2 says which test it was. It judges no speed: the longest test takes a
// minute.
class TimeLimit final : public Catch::TestEventListenerBase {
 public:
  static constexpr unsigned kLongestS = 1'800;

  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& /*test*/) override {
    std::signal(SIGALRM, [](int) { std::abort(); });
    alarm(kLongestS);
  }
  void testCaseEnded(const Catch::TestCaseStats& /*test*/) override { alarm(0); }
};

CATCH_REGISTER_LISTENER(TimeLimit)

}  // namespace
}  // namespace seqd::testing
