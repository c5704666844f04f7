// The C ABI against a daemon that is away, says nothing, hangs up or talks nonsense.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "protocol/replies.h"
#include "tests/adapters/client/client_handle.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Fault = WireDaemon::Fault;

TEST_CASE("AbsentDaemonIsAConnectErrorThatNamesTheSocket", "[client]") {
  SocketDaemon daemon;
  Handle handle(daemon, 5'000);
  std::int64_t id = 0;
  CHECK(seqd_next(handle.client, "orders", &id) == SEQD_E_CONNECT);
  CHECK(contains(handle.error(), daemon.path()));
  CHECK(contains(handle.error(), "No such file or directory"));
  // The same handle works as soon as there is a daemon.
  daemon.start();
  CHECK(seqd_ping(handle.client) == SEQD_OK);
}

TEST_CASE("SocketThatMayNotBeUsedIsAnErrorAtOnce", "[client]") {
  SocketDaemon daemon;
  seqd_options options = SEQD_OPTIONS_INIT;
  options.socket_path = "/dev/null/seqd.sock";  // ENOTDIR does not go away by waiting
  options.timeout_ms = 3'600'000;
  seqd_client* client = nullptr;
  REQUIRE(seqd_open(&options, &client) == SEQD_OK);
  CHECK(seqd_ping(client) == SEQD_E_CONNECT);
  CHECK(contains(seqd_last_error(client), "Not a directory"));
  seqd_close(client);
}

TEST_CASE("DaemonThatSaysNothingIsAConnectError", "[client]") {
  SocketDaemon daemon;
  daemon.wire().hello_fault = [](int) { return Fault::ignore; };
  daemon.start();
  Handle handle(daemon, 1'000);
  CHECK(seqd_ping(handle.client) == SEQD_E_CONNECT);
  CHECK(contains(handle.error(), "accepts connections but does not reply"));
}

std::int64_t cpu_ms() {
  timespec used = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000 + used.tv_nsec / 1'000'000;
}

TEST_CASE("ClientThatPollsGetsItsIds", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle polling(daemon, 10'000, 0, 1'000'000);
  for (std::int64_t expected = 1; expected <= 100; ++expected) REQUIRE(polling.next() == expected);
}

// Counted in time on the CPU, which a busy machine does not lengthen.
TEST_CASE("ClientPollsNoLongerThanItsTimeAndThenSleeps", "[client]") {
  SocketDaemon daemon;
  daemon.wire().hello_fault = [](int) { return Fault::ignore; };
  daemon.start();
  Handle patient(daemon, 1'000, 0, 50'000);
  Handle short_of_time(daemon, 50, 0, 1'000'000);
  for (const Handle* polling : {&patient, &short_of_time}) {
    const std::int64_t before_ms = cpu_ms();
    CHECK(seqd_ping(polling->client) == SEQD_E_CONNECT);
    const std::int64_t used_ms = cpu_ms() - before_ms;
    CHECK(used_ms <= 300);
  }
}

// A signal does not make it begin again.
TEST_CASE("ClientThatIsInterruptedPollsNoLonger", "[client]") {
  SocketDaemon daemon;
  daemon.wire().hello_fault = [](int) { return Fault::ignore; };
  daemon.start();
  Handle polling(daemon, 1'000, 0, 100'000);
  const itimerval often = {{0, 20'000}, {0, 20'000}};
  struct sigaction act = {};
  act.sa_handler = [](int) {};
  struct sigaction former = {};
  REQUIRE(::sigaction(SIGALRM, &act, &former) == 0);
  REQUIRE(::setitimer(ITIMER_REAL, &often, nullptr) == 0);
  const std::int64_t before_ms = cpu_ms();
  CHECK(seqd_ping(polling.client) == SEQD_E_CONNECT);
  CHECK(cpu_ms() - before_ms <= 400);
  const itimerval never = {};
  REQUIRE(::setitimer(ITIMER_REAL, &never, nullptr) == 0);
  REQUIRE(::sigaction(SIGALRM, &former, nullptr) == 0);
}

TEST_CASE("AWaitOfAMillisecondHasAnEnd", "[client]") {
  SocketDaemon daemon;
  daemon.wire().hello_fault = [](int) { return Fault::ignore; };
  daemon.start();
  Handle patient(daemon, 60'000);
  REQUIRE(seqd_submit_next(patient.client, "orders", nullptr) == SEQD_OK);
  for (const int timeout_ms : {1, 2, 1, 99, 100, 1}) {
    seqd_reply reply = {};
    std::size_t used = 1;
    REQUIRE(seqd_poll(patient.client, timeout_ms, &reply, sizeof(reply), 1, &used) == SEQD_OK);
    CHECK(used == 0);
  }
  Handle hasty(daemon, 1);
  CHECK(seqd_ping(hasty.client) == SEQD_E_CONNECT);
}

// As event loops do that set whatever they watch so.
TEST_CASE("ADescriptorThatTheProgramMadeNonBlockingIsWaitedForWithoutSpinning", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 2 ? Fault::ignore : Fault::none;
  };
  daemon.start();
  Handle handle(daemon, 4'000);
  std::int64_t id = 0;
  REQUIRE(seqd_next(handle.client, "orders", &id) == SEQD_OK);
  seqd_watch watch = SEQD_WATCH_INIT;
  REQUIRE(seqd_descriptor(handle.client, &watch) == SEQD_OK);
  REQUIRE(fcntl(watch.descriptor, F_SETFL, O_NONBLOCK) == 0);
  const auto used_ms = [] {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
  };
  const auto before_ms = used_ms();
  CHECK(seqd_next(handle.client, "orders", &id) == SEQD_E_TIMEOUT);
  CHECK(used_ms() - before_ms < 100);
  CHECK(seqd_next(handle.client, "orders", &id) == SEQD_OK);
}

TEST_CASE("UnansweredRequestTimesOutAndTheHandleStaysUsable", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 1 ? Fault::ignore : Fault::none;
  };
  daemon.start();
  Handle handle(daemon, 5'000);
  std::int64_t id = 0;
  CHECK(seqd_next(handle.client, "orders", &id) == SEQD_E_TIMEOUT);
  CHECK(seqd_error_is_transient(SEQD_E_TIMEOUT) == 1);
  CHECK(handle.next() == 1);
}

TEST_CASE("ConnectionLostAtAnyRequestGivesTheSameIdAgain", "[client]") {
  for (const Fault fault : {Fault::close_before, Fault::close_after, Fault::stopping}) {
    SocketDaemon daemon;
    daemon.wire().fault = [=](int number, const protocol::Message&) {
      return number % 3 == 0 ? fault : Fault::none;
    };
    daemon.start();
    Handle handle(daemon);
    for (int i = 1; i <= 50; ++i) CHECK(handle.next() == i);
    daemon.stop();
    CHECK(daemon.wire().issued("orders") == 50);
    CHECK(daemon.wire().complaint() == "");
    CHECK((daemon.wire().repeats() > 0) == (fault == Fault::close_after));
  }
}

TEST_CASE("DaemonRestartedBetweenCallsIsNotNoticed", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  for (int i = 1; i <= 10; ++i) {
    CHECK(handle.next() == i);
    daemon.stop();
    daemon.start();
  }
  daemon.stop();
  CHECK(daemon.wire().hellos() == 10);
}

TEST_CASE("RequestMadeWhileTheDaemonIsAwayWaitsForIt", "[client]") {
  SocketDaemon daemon;
  Handle handle(daemon);
  REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == SEQD_OK);
  seqd_reply reply;
  std::size_t used = 0;
  for (int i = 0; i < 3; ++i)
    REQUIRE(seqd_poll(handle.client, 0, &reply, sizeof(seqd_reply), 1, &used) == SEQD_OK);
  CHECK(used == 0);
  daemon.start();
  REQUIRE(seqd_poll(handle.client, 10'000, &reply, sizeof(seqd_reply), 1, &used) == SEQD_OK);
  REQUIRE(used == 1);
  CHECK(reply.id == 1);
}

TEST_CASE("HelloRefusedAtFirstIsTriedAgain", "[client]") {
  for (const Fault fault : {Fault::close_before, Fault::stopping}) {
    SocketDaemon daemon;
    daemon.wire().hello_fault = [=](int number) { return number <= 4 ? fault : Fault::none; };
    daemon.start();
    Handle handle(daemon);
    CHECK(handle.next() == 1);
    daemon.stop();
    CHECK(daemon.wire().hellos() == 5);
  }
}

TEST_CASE("DaemonThatClosesEveryTimeEndsInAnErrorAtTheDeadline", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int, const protocol::Message&) { return Fault::close_before; };
  daemon.start();
  Handle handle(daemon, 300);
  std::int64_t id = 0;
  const int code = seqd_next(handle.client, "orders", &id);
  CHECK((code == SEQD_E_CONNECT || code == SEQD_E_TIMEOUT));
  daemon.stop();
  // With a back-off: without one there would be tens of thousands.
  CHECK(daemon.wire().hellos() < 50);
}

TEST_CASE("GarbageIsAProtocolErrorForAllThatIsInFlightAndTheHandleStaysUsable", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 1 ? Fault::garbage : Fault::none;
  };
  daemon.start();
  Handle handle(daemon);
  for (int i = 0; i < 3; ++i) REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == 0);
  std::vector<seqd_reply> replies(8);
  std::size_t used = 0;
  REQUIRE(seqd_poll(handle.client, 10'000, replies.data(), sizeof(seqd_reply), replies.size(),
                    &used) == SEQD_OK);
  CHECK(used == 3);
  for (std::size_t i = 0; i < used; ++i) {
    CHECK(replies[i].code == SEQD_E_PROTOCOL);
    CHECK(replies[i].run_count == 0);
    CHECK(replies[i].id == 0);
    CHECK(contains(replies[i].text, "cannot be read"));
  }
  handle.next();
}

TEST_CASE("RandomBytesFromTheDaemonNeverDoMoreThanFail", "[client]") {
  SocketDaemon daemon;
  std::uint32_t state = 12345;
  daemon.instead = [&](int descriptor) {
    char bytes[512];
    if (::recv(descriptor, bytes, sizeof(bytes), 0) <= 0) return;
    for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    (void)::send(descriptor, bytes, sizeof(bytes), MSG_NOSIGNAL);
  };
  daemon.start();
  Handle handle(daemon, 200);
  for (int i = 0; i < 200; ++i) {
    std::int64_t id = 0;
    CHECK(seqd_next(handle.client, "orders", &id) < 0);
  }
}

}  // namespace
}  // namespace seqd::engine
