// How handles of the C ABI are closed: beside children after fork(), by them, and by threads that
// are cancelled. Those of blocks are in blocks/blocks_close_test.cc.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/adapters/client/client_handle.h"
#include "tests/adapters/client/failing_memory.h"
#include "tests/adapters/client/idle_child.h"

namespace seqd::engine {
namespace {

using namespace testing;

}  // namespace

// A program that forks seldom knows which descriptors its libraries have.
TEST_CASE("AHandleThatIsClosedEndsItsConnectionThoughAChildHasItToo", "[client]") {
  SocketDaemon daemon;
  std::promise<void> ended;
  daemon.ended = [&ended] { ended.set_value(); };
  daemon.start();
  Handle handle(daemon);
  CHECK(handle.next() == 1);
  CHECK(handle.next() == 2);
  {
    const IdleChild child;
    seqd_close(std::exchange(handle.client, nullptr));
    CHECK(ended.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  }
  daemon.stop();
  CHECK(daemon.wire().acknowledgements() == std::vector<std::uint32_t>{2, 3});
}

// A thread that the child does not have may have been in the middle of a change.
TEST_CASE("AChildThatClosesAHandleFreesNothing", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  CHECK(handle.next() == 1);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::int64_t before = frees_of_thread();
    seqd_close(handle.client);
    ::_exit(frees_of_thread() == before ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(handle.next() == 2);
}

TEST_CASE("AThreadIsCancelledBehindItsCalls", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  seqd_options options = SEQD_OPTIONS_INIT;
  options.socket_path = daemon.path().c_str();
  std::vector<int> codes;
  std::thread cancelled([&] {
    ::pthread_cancel(::pthread_self());
    seqd_client* client = nullptr;
    codes.push_back(seqd_open(&options, &client));
    std::int64_t id = 0;
    codes.push_back(seqd_next(client, "orders", &id));
    codes.push_back(seqd_submit_next(client, "orders", nullptr));
    seqd_reply reply = {};
    std::size_t used = 0;
    codes.push_back(seqd_poll(client, 20'000, &reply, sizeof(reply), 1, &used));
    seqd_close(client);
    ::pthread_testcancel();
    codes.push_back(SEQD_E_UNKNOWN);
  });
  cancelled.join();
  CHECK(codes == std::vector<int>(4, SEQD_OK));
}

}  // namespace seqd::engine
