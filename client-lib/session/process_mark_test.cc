// A copy of a process is known for one, whatever its process ID is.
#include "client-lib/session/process_mark.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tests/adapters/client/client_handle.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Means = ProcessMark::Means;

// Ends as a child does: without the destructors and the output of its parent.
[[noreturn]] void leave(bool good) {
  ::_exit(good ? 0 : 1);
}

bool ends_well(pid_t child) {
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// Whether `check` holds in a child of this process.
template <typename Check>
bool holds_in_child(Check check) {
  const pid_t child = ::fork();
  if (child == 0) leave(check());
  return ends_well(child);
}

// The same, with a child that is process 1 of a new PID namespace.
template <typename Check>
bool holds_in_new_namespace(Check check) {
  return ::unshare(CLONE_NEWPID) == 0 && holds_in_child([&] { return ::getpid() == 1 && check(); });
}

}  // namespace

TEST_CASE("CopyOfAProcessIsKnownByEitherMeans", "[client]") {
  for (const Means means : {Means::page, Means::counter}) {
    const ProcessMark mark(means);
    CHECK(mark.means() == means);
    CHECK_FALSE(mark.is_copied());
    CHECK(holds_in_child([&] { return mark.is_copied(); }));
    // Also the copy of a copy, and a mark that the child made is its own.
    CHECK(holds_in_child([&] { return holds_in_child([&] { return mark.is_copied(); }); }));
    CHECK(holds_in_child([&] { return !ProcessMark(means).is_copied(); }));
    CHECK_FALSE(mark.is_copied());
  }
}

TEST_CASE("CopyThatTheCLibraryDidNotMakeIsKnownByThePage", "[client]") {
  const ProcessMark mark;
  const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) leave(mark.is_copied());
  CHECK(ends_well(static_cast<pid_t>(child)));
}

TEST_CASE("ChildWithItsParentsProcessIdDoesNotGetItsParentsIds", "[client]") {
  REQUIRE(::geteuid() == 0);  // PID namespaces are for root, and so are these tests
  SocketDaemon daemon;
  daemon.start();
  // Process 1 of a namespace opens a handle; its child is process 1 of the next one.
  CHECK(holds_in_child([&] {
    return holds_in_new_namespace([&] {
      seqd_options options = SEQD_OPTIONS_INIT;
      options.socket_path = daemon.path().c_str();
      seqd_client* client = nullptr;
      std::int64_t id = 0;
      const bool used = seqd_open(&options, &client) == SEQD_OK &&
                        seqd_next(client, "orders", &id) == SEQD_OK && id == 1;
      const bool refused = holds_in_new_namespace([&] {
        const bool forked = seqd_next(client, "orders", &id) == SEQD_E_FORKED;
        seqd_close(client);
        return forked && id == 1;
      });
      return used && refused && seqd_next(client, "orders", &id) == SEQD_OK && id == 2;
    });
  }));
  daemon.stop();
  CHECK(daemon.wire().hellos() == 1);
  CHECK(daemon.wire().issued("orders") == 2);
}

}  // namespace seqd::engine
