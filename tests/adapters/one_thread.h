// Aborts the test program at the first Catch2 assertion on a thread other than the test's. Catch2
// does not lock its state: concurrent assertions corrupt memory, and the program fails later, in
// another test. Included by the source that contains the runner.
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
    std::fprintf(stderr, "%s:%zu: assertion on a thread other than the test's\n",
                 assertion.lineInfo.file, assertion.lineInfo.line);
    std::abort();
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
};

CATCH_REGISTER_LISTENER(OneThread)

}  // namespace seqd::testing
