// IdleChild: a child after fork() that has a copy of every descriptor of the test, and does nothing
// until it is killed in the end, or by itself after a minute. One thread.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace seqd::testing {

class IdleChild {
 public:
  IdleChild() : process_(::fork()) {
    if (process_ == 0) {
      ::alarm(60);
      for (;;) ::pause();
    }
    REQUIRE(process_ > 0);
  }
  ~IdleChild() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  IdleChild(const IdleChild&) = delete;
  IdleChild& operator=(const IdleChild&) = delete;

 private:
  const pid_t process_;
};

}  // namespace seqd::testing
