// Ends a test program at the first assertion that another thread than the test's own makes: Catch2
// keeps what it is told without a lock, so two at once write over each other's memory, and the
// program fails later and elsewhere. To be included by the source that has the runner.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <thread>

#include <catch2/catch.hpp>

namespace seqd::testing {

class OneThread final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void assertionStarting(const Catch::AssertionInfo& assertion) override {
    if (std::this_thread::get_id() == thread_) return;
    std::fprintf(stderr, "%s:%zu: an assertion on another thread than the test's\n",
                 assertion.lineInfo.file, assertion.lineInfo.line);
    std::abort();
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
};

CATCH_REGISTER_LISTENER(OneThread)

}  // namespace seqd::testing
