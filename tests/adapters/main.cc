// The runner of the adapter tests: Catch2's own main, with an end for a test that hangs, and a line
// for each case that failed, by which catch_second_try.py knows it.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "tests/adapters/in_time.h"
#include "tests/adapters/one_thread.h"

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

// The console reporter wraps long names and does not say what INFO belongs to a failure.
class FailedCases final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& /*test*/) override { final_ = false; }
  bool assertionEnded(const Catch::AssertionStats& assertion) override {
    const auto is_mark = [](const Catch::MessageInfo& info) {
      return info.message == kWaitedInVain;
    };
    const auto& infos = assertion.infoMessages;
    if (!assertion.assertionResult.isOk() && std::none_of(infos.begin(), infos.end(), is_mark))
      final_ = true;
    return true;
  }
  void testCaseEnded(const Catch::TestCaseStats& test) override {
    if (test.totals.assertions.allOk()) return;
    Catch::cout() << (final_ ? "FAILED CASE: " : "FAILED CASE, WAITED IN VAIN: ")
                  << test.testInfo.name << std::endl;
  }

 private:
  bool final_ = false;  // it failed by something else than time
};

CATCH_REGISTER_LISTENER(FailedCases)

}  // namespace
}  // namespace seqd::testing
