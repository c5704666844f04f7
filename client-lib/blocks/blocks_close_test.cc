// How handles of blocks are closed, by whom, and in the middle of what: children after fork(),
// threads that are cancelled, a daemon that was restarted.
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "client-lib/seqd_blocks.h"
#include "tests/adapters/client/block_threads.h"
#include "tests/adapters/client/client_handle.h"
#include "tests/adapters/client/connect_hook.h"
#include "tests/adapters/client/idle_child.h"
#include "tests/adapters/client/opened_blocks.h"

namespace seqd::engine {
namespace {

using namespace testing;

}  // namespace

TEST_CASE("AChildMayNotTakeFromItsParentsBlocks", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  auto ids = opened.take(10);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::int64_t id = 0;
    const int code = seqd_blocks_next(opened.blocks, &id);
    seqd_blocks_close(opened.blocks);
    ::_exit(code == SEQD_E_FORKED && id == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  for (int at = 0; at < 1'000; ++at) ids.push_back(opened.next());
  CHECK(has_no_id_twice(ids));
  opened.close();
  daemon.stop();
  CHECK(daemon.taken() == 1'010);
}

TEST_CASE("AChildClosesItsParentsBlocksWhileThreadsOfTheParentWait", "[blocks]") {
  BlockDaemon daemon;  // that does not listen yet
  Opened opened(daemon);
  BlockThreads threads;
  threads.start(opened.blocks, 4, 10);
  int status = 0;
  for (int fork = 0; fork < 20 && status == 0; ++fork) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      seqd_blocks_close(opened.blocks);
      ::_exit(0);
    }
    if (::waitpid(child, &status, 0) != child) status = -1;
  }
  daemon.start();
  CHECK(status == 0);
  CHECK(has_no_id_twice(threads.join()));
}

// A daemon that was restarted waits for its clients for a while before it ends their blocks.
TEST_CASE("ADaemonThatWasRestartedSeesAtOnceThatAHandleIsClosed", "[blocks]") {
  BlockDaemon daemon;
  daemon.socket().ended = [&daemon, killed = false]() mutable {
    if (std::exchange(killed, true)) daemon.end_all();
  };
  daemon.start();
  Opened opened(daemon);
  const auto ids = opened.take(10);
  daemon.stop();
  const bool is_back = GENERATE(true, false);
  if (is_back) daemon.start();
  opened.close();
  if (!is_back) daemon.start();
  daemon.stop();
  CHECK(daemon.taken() == (is_back ? of_blocks(ids) : 0));
  CHECK(of_blocks(ids) == 10);
}

// It may have used up the blocks of a page after a later daemon told none.
TEST_CASE("ADaemonSeesAtOnceThatAHandleIsClosedThatHasNoPageAnyMore", "[blocks]") {
  BlockDaemon daemon;
  daemon.longest = 100;
  int connections = 0;
  daemon.socket().ended = [&connections] { ++connections; };
  daemon.start();
  Opened opened(daemon);
  auto ids = opened.take(10);
  daemon.stop();
  daemon.page_refusal = ErrorCode::UNAVAILABLE;
  daemon.start();
  while (ids.back() >= kFirstOfBlocks) {
    REQUIRE(ids.size() < 1'000);
    ids.push_back(opened.next());
  }
  daemon.stop();
  daemon.start();
  opened.close();
  daemon.stop();
  CHECK(connections == 3);
  CHECK(of_blocks(ids) >= 10);
}

// A server forks before it closes what it does not need, and its children live for long.
TEST_CASE("BlocksEndWithTheirHandleThoughAChildHasItsConnectionToo", "[blocks]") {
  BlockDaemon daemon;
  std::promise<void> ended;
  daemon.socket().ended = [&] {
    daemon.end_all();
    ended.set_value();
  };
  daemon.start();
  Opened opened(daemon);
  const auto ids = opened.take(10);
  const IdleChild child;
  opened.close();
  CHECK(ended.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  CHECK(daemon.taken() == of_blocks(ids));
}

// The child of another thread, in the middle of a connect.
TEST_CASE("AChildClosesAConnectionThatItsParentWasMaking", "[blocks][client]") {
  BlockDaemon daemon;
  daemon.start();
  Opened opened(daemon);
  const Handle handle(daemon.socket());
  const bool with_blocks = GENERATE(true, false);
  int status = -1;
  const ConnectHook hook([&](int descriptor) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (with_blocks)
        seqd_blocks_close(opened.blocks);
      else
        seqd_close(handle.client);
      ::_exit(::fcntl(descriptor, F_GETFD) < 0 ? 0 : 1);
    }
    if (::waitpid(child, &status, 0) != child) status = -2;
  });
  std::int64_t id = 0;
  CHECK((with_blocks ? opened.code() : seqd_next(handle.client, "orders", &id)) == SEQD_OK);
  CHECK(status == 0);
}

TEST_CASE("AThreadIsCancelledBehindItsCall", "[blocks]") {
  BlockDaemon daemon;            // that does not listen yet
  Opened opened(daemon, 5'000);  // longer than the pauses between attempts
  int code = SEQD_OK;
  std::thread cancelled([&] {
    ::pthread_cancel(::pthread_self());
    std::int64_t id = 0;
    code = seqd_blocks_next(opened.blocks, &id);
    ::pthread_testcancel();
    code = SEQD_OK;
  });
  cancelled.join();
  CHECK(code == SEQD_E_CONNECT);
  daemon.start();
  CHECK(of_blocks(opened.take(10)) == 10);
}

TEST_CASE("AThreadIsCancelledBehindTheCloseOfItsBlocks", "[blocks]") {
  BlockDaemon daemon;
  daemon.start();
  seqd_options options = SEQD_OPTIONS_INIT;
  options.socket_path = daemon.socket().path().c_str();
  int code = SEQD_E_UNKNOWN;
  std::thread cancelled([&] {
    ::pthread_cancel(::pthread_self());
    seqd_blocks* blocks = nullptr;
    code = seqd_blocks_open(&options, "orders", &blocks);
    std::int64_t id = 0;
    if (code == SEQD_OK) code = seqd_blocks_next(blocks, &id);
    seqd_blocks_close(blocks);
    ::pthread_testcancel();
    code = SEQD_E_UNKNOWN;
  });
  cancelled.join();
  CHECK(code == SEQD_OK);
}

}  // namespace seqd::engine
