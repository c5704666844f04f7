// The C ABI over real sockets, against a daemon that misbehaves at chosen points.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "client-lib/seqd.h"
#include "client-lib/seqd.hpp"
#include "protocol/replies.h"
#include "tests/adapters/socket_daemon.h"

namespace seqd::engine {
namespace {

using testing::SocketDaemon;
using Fault = testing::WireDaemon::Fault;

// A handle that closes itself.
struct Handle {
  seqd_client* client = nullptr;

  explicit Handle(const SocketDaemon& daemon, std::int64_t timeout_ms = 10'000,
                  std::uint64_t flags = 0) {
    seqd_options options = SEQD_OPTIONS_INIT;
    options.socket_path = daemon.path().c_str();
    options.timeout_ms = timeout_ms;
    options.flags = flags;
    REQUIRE(seqd_open(&options, &client) == SEQD_OK);
  }
  ~Handle() { seqd_close(client); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  std::int64_t next() {
    std::int64_t id = 0;
    const int code = seqd_next(client, "orders", &id);
    INFO(seqd_last_error(client));
    REQUIRE(code == SEQD_OK);
    return id;
  }
  std::string error() const { return seqd_last_error(client); }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("NextGivesRisingIds", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  {
    Handle handle(daemon);
    CHECK(handle.next() == 1);
    CHECK(handle.next() == 2);
    CHECK(handle.error() == "");
  }
  daemon.stop();
  CHECK(daemon.wire().hellos() == 1);
  CHECK(daemon.wire().complaint() == "");
}

TEST_CASE("ClosingAHandleAcknowledgesWhatArrived", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  {
    Handle handle(daemon);
    for (int i = 0; i < 3; ++i) handle.next();
  }
  // The next handle is served after the first one's connection has been read to its end.
  Handle after(daemon);
  CHECK(after.next() == 4);
  daemon.stop();
  CHECK(daemon.wire().acknowledgements() == std::vector<std::uint32_t>{2, 4});
}

TEST_CASE("RangeGivesRunsAndNextManyGivesThemOneByOne", "[client]") {
  SocketDaemon daemon;
  daemon.wire().run_length = 4;
  daemon.wire().step = 10;
  daemon.start();
  Handle handle(daemon);
  const seqd_run* runs = nullptr;
  std::size_t run_count = 0;
  REQUIRE(seqd_range(handle.client, "orders", 6, &runs, &run_count) == SEQD_OK);
  REQUIRE(run_count == 2);
  CHECK(runs[0].first == 1);
  CHECK(runs[0].count == 4);
  CHECK(runs[1].first == 41);
  CHECK(runs[1].count == 2);
  CHECK(runs[1].step == 10);
  std::vector<std::int64_t> ids(5);
  REQUIRE(seqd_next_many(handle.client, "orders", 5, ids.data()) == SEQD_OK);
  CHECK(ids == std::vector<std::int64_t>{61, 71, 81, 91, 101});
  REQUIRE(seqd_range(handle.client, "orders", 1, &runs, &run_count) == SEQD_OK);
  REQUIRE(run_count == 1);
  CHECK(runs[0].first == 111);
}

TEST_CASE("PeekPingLimitAndCallAnswer", "[client]") {
  SocketDaemon daemon;
  daemon.wire().count_limit = 77;
  daemon.start();
  Handle handle(daemon);
  std::int64_t value = 0;
  REQUIRE(seqd_limit(handle.client, "count", &value) == SEQD_OK);
  CHECK(value == 77);
  CHECK(seqd_limit(handle.client, "patience", &value) == SEQD_E_ARGUMENT);
  CHECK(seqd_ping(handle.client) == SEQD_OK);
  std::int64_t next = -1;
  std::int64_t in_hand = -1;
  std::int64_t last = -1;
  REQUIRE(seqd_peek(handle.client, "orders", &next, &in_hand, &last) == SEQD_OK);
  CHECK(next == 1);
  CHECK(in_hand == 7);
  CHECK(last == 0);
  const void* result = nullptr;
  std::size_t length = 0;
  REQUIRE(seqd_call(handle.client, "echo", nullptr, 0, &result, &length) == SEQD_OK);
  CHECK(std::string(static_cast<const char*>(result), length) == "\xa4pong");
  REQUIRE(seqd_call(handle.client, "echo", "\x91\x01", 2, &result, &length) == SEQD_OK);
  CHECK(seqd_call(handle.client, "nothing", nullptr, 0, &result, &length) == SEQD_E_NO_METHOD);
  CHECK(handle.error() == "no such method");
}

TEST_CASE("ArgumentsThatCannotBeRightAreRefusedBeforeAnythingIsSent", "[client]") {
  SocketDaemon daemon;  // not started: nothing may be sent
  Handle handle(daemon);
  std::int64_t id = 0;
  const seqd_run* runs = nullptr;
  std::size_t used = 0;
  const void* result = nullptr;
  seqd_client* client = handle.client;
  CHECK(seqd_next(nullptr, "orders", &id) == SEQD_E_ARGUMENT);
  CHECK(seqd_next(client, nullptr, &id) == SEQD_E_ARGUMENT);
  CHECK(seqd_next(client, "", &id) == SEQD_E_ARGUMENT);
  CHECK(seqd_next(client, std::string(129, 'a').c_str(), &id) == SEQD_E_ARGUMENT);
  CHECK(handle.error() == "the sequence's name is longer than 128 bytes");
  CHECK(seqd_next(client, "orders", nullptr) == SEQD_E_ARGUMENT);
  CHECK(seqd_range(client, "orders", 0, &runs, &used) == SEQD_E_ARGUMENT);
  CHECK(seqd_range(client, "orders", -1, &runs, &used) == SEQD_E_ARGUMENT);
  CHECK(seqd_range(client, "orders", 10'000'001, &runs, &used) == SEQD_E_ARGUMENT);
  CHECK(seqd_next_many(client, "orders", SIZE_MAX, &id) == SEQD_E_ARGUMENT);
  CHECK(seqd_submit_range(client, "orders", 0, nullptr) == SEQD_E_ARGUMENT);
  CHECK(seqd_poll(client, -1, nullptr, 0, &used) == SEQD_E_ARGUMENT);
  CHECK(seqd_poll(client, 0, nullptr, 1, &used) == SEQD_E_ARGUMENT);
  for (const char* method : {"", "hello", "ack"})
    CHECK(seqd_call(client, method, nullptr, 0, &result, &used) == SEQD_E_ARGUMENT);
  for (const std::string& params : {std::string(), std::string("\x01"), std::string("\x91"),
                                    std::string("\x90\x90"), std::string("\xc1")}) {
    CHECK(seqd_call(client, "ping", params.data(), params.size(), &result, &used) ==
          SEQD_E_ARGUMENT);
  }
  CHECK(seqd_pending(client) == 0);
}

TEST_CASE("OptionsThatCannotBeRightAreRefused", "[client]") {
  seqd_options options = SEQD_OPTIONS_INIT;
  const std::string long_path(108, 'p');
  const std::string long_name(65, 'n');
  SECTION("no size") {
    options.size = 0;
  }
  SECTION("a long path") {
    options.socket_path = long_path.c_str();
  }
  SECTION("a long name") {
    options.name = long_name.c_str();
  }
  SECTION("a negative time-out") {
    options.timeout_ms = -1;
  }
  SECTION("a time-out of centuries") {
    options.connect_timeout_ms = INT64_MAX;
  }
  SECTION("flags of the future") {
    options.flags = 1U << 20;
  }
  seqd_client* client = nullptr;
  CHECK(seqd_open(&options, &client) == SEQD_E_ARGUMENT);
  CHECK(client == nullptr);
  CHECK(seqd_open(&options, nullptr) == SEQD_E_ARGUMENT);
}

TEST_CASE("CallerBuiltAgainstAnOlderHeaderGetsTheDefaultsOfNewerFields", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  seqd_options options = SEQD_OPTIONS_INIT;
  options.size = offsetof(seqd_options, name);
  options.socket_path = daemon.path().c_str();
  options.timeout_ms = -1;  // beyond `size`: not looked at
  seqd_client* client = nullptr;
  REQUIRE(seqd_open(&options, &client) == SEQD_OK);
  std::int64_t id = 0;
  CHECK(seqd_next(client, "orders", &id) == SEQD_OK);
  seqd_close(client);
}

TEST_CASE("SocketPathComesFromTheEnvironmentWhenNoneIsGiven", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  REQUIRE(::setenv("SEQD_SOCKET", daemon.path().c_str(), 1) == 0);
  seqd_client* client = nullptr;
  const int code = seqd_open(nullptr, &client);
  ::unsetenv("SEQD_SOCKET");
  REQUIRE(code == SEQD_OK);
  CHECK(seqd_ping(client) == SEQD_OK);
  seqd_close(client);
}

TEST_CASE("AbsentDaemonIsAConnectErrorThatNamesTheSocket", "[client]") {
  SocketDaemon daemon;
  Handle handle(daemon, 30);
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
  Handle handle(daemon, 30);
  CHECK(seqd_ping(handle.client) == SEQD_E_CONNECT);
  CHECK(contains(handle.error(), "accepts but says nothing"));
}

TEST_CASE("RequestThatIsNotAnsweredTimesOutAndTheHandleGoesOn", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 1 ? Fault::ignore : Fault::none;
  };
  daemon.start();
  Handle handle(daemon, 100);
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
  for (int i = 0; i < 3; ++i) REQUIRE(seqd_poll(handle.client, 0, &reply, 1, &used) == SEQD_OK);
  CHECK(used == 0);
  daemon.start();
  REQUIRE(seqd_poll(handle.client, 10'000, &reply, 1, &used) == SEQD_OK);
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

TEST_CASE("GarbageIsAProtocolErrorForAllThatIsInFlightAndTheHandleGoesOn", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 1 ? Fault::garbage : Fault::none;
  };
  daemon.start();
  Handle handle(daemon);
  for (int i = 0; i < 3; ++i) REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == 0);
  std::vector<seqd_reply> replies(8);
  std::size_t used = 0;
  REQUIRE(seqd_poll(handle.client, 10'000, replies.data(), replies.size(), &used) == SEQD_OK);
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

TEST_CASE("PipelinedRequestsSurviveLostConnections", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number % 97 == 0 ? Fault::close_after : Fault::none;
  };
  daemon.start();
  Handle handle(daemon);
  constexpr int kRequests = 3'000;
  int submitted = 0;
  std::set<std::int64_t> ids;
  std::set<void*> tags;
  std::vector<char> tag_space(kRequests);
  std::vector<seqd_reply> replies(64);
  while (tags.size() < kRequests) {
    while (submitted < kRequests && seqd_pending(handle.client) < 40) {
      REQUIRE(seqd_submit_next(handle.client, "orders",
                               &tag_space[static_cast<std::size_t>(submitted)]) == SEQD_OK);
      ++submitted;
    }
    std::size_t used = 0;
    REQUIRE(seqd_poll(handle.client, 10'000, replies.data(), replies.size(), &used) == SEQD_OK);
    REQUIRE(used > 0);
    for (std::size_t i = 0; i < used; ++i) {
      REQUIRE(replies[i].code == SEQD_OK);
      ids.insert(replies[i].id);
      tags.insert(replies[i].tag);
    }
  }
  daemon.stop();
  CHECK(ids.size() == kRequests);
  CHECK(*ids.rbegin() == kRequests);
  CHECK(daemon.wire().complaint() == "");
  CHECK(daemon.wire().repeats() > 0);
}

TEST_CASE("ManyRequestsSubmittedAtOnceAreAllSentAndAnswered", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  int refused = 0;
  for (int i = 0; i < 70'000; ++i) {
    const int code = seqd_submit_next(handle.client, "orders", nullptr);
    if (code == SEQD_E_FULL) ++refused;
  }
  CHECK(refused == 70'000 - 65'536);
  std::vector<seqd_reply> replies(4'096);
  std::size_t all = 0;
  while (seqd_pending(handle.client) > 0) {
    std::size_t used = 0;
    REQUIRE(seqd_poll(handle.client, 10'000, replies.data(), replies.size(), &used) == SEQD_OK);
    REQUIRE(used > 0);
    all += used;
  }
  CHECK(all == 65'536);
  CHECK(handle.next() == 65'537);
}

TEST_CASE("SynchronousCallBetweenPipelinedOnesGetsItsOwnAnswer", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == SEQD_OK);
  REQUIRE(seqd_submit_range(handle.client, "orders", 5, nullptr) == SEQD_OK);
  CHECK(handle.next() == 7);
  CHECK(seqd_pending(handle.client) == 2);
  seqd_reply replies[4];
  std::size_t used = 0;
  REQUIRE(seqd_poll(handle.client, 0, replies, 4, &used) == SEQD_OK);
  REQUIRE(used == 2);
  CHECK(replies[0].id == 1);
  CHECK(replies[1].id == 2);
  REQUIRE(replies[1].run_count == 1);
  CHECK(replies[1].runs[0].count == 5);
}

TEST_CASE("PollWithNothingInFlightReturnsAtOnce", "[client]") {
  SocketDaemon daemon;
  Handle handle(daemon);
  seqd_reply reply;
  std::size_t used = 9;
  CHECK(seqd_poll(handle.client, 2'000'000'000, &reply, 1, &used) == SEQD_OK);
  CHECK(used == 0);
}

TEST_CASE("EventLoopIsToldWhatToWatch", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  int descriptor = 0;
  short events = 0;
  int timeout_ms = 0;
  REQUIRE(seqd_descriptor(handle.client, &descriptor, &events, &timeout_ms) == SEQD_OK);
  CHECK(descriptor == -1);
  CHECK(timeout_ms == -1);
  REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == SEQD_OK);
  std::size_t used = 0;
  seqd_reply reply;
  while (used == 0) {
    REQUIRE(seqd_descriptor(handle.client, &descriptor, &events, &timeout_ms) == SEQD_OK);
    CHECK(timeout_ms >= 0);
    pollfd watched = {descriptor, events, 0};
    (void)::poll(&watched, 1, timeout_ms);
    REQUIRE(seqd_poll(handle.client, 0, &reply, 1, &used) == SEQD_OK);
  }
  CHECK(reply.id == 1);
  REQUIRE(seqd_descriptor(handle.client, &descriptor, &events, &timeout_ms) == SEQD_OK);
  CHECK(descriptor >= 0);
  CHECK(events == POLLIN);
  CHECK(timeout_ms == -1);
  CHECK((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("ChildProcessCannotUseItsParentsHandleAndDoesNotDisturbIt", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  CHECK(handle.next() == 1);
  const pid_t child = ::fork();
  if (child == 0) {
    std::int64_t id = 0;
    const bool refused = seqd_next(handle.client, "orders", &id) == SEQD_E_FORKED;
    seqd_close(handle.client);
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(handle.next() == 2);
  daemon.stop();
  CHECK(daemon.wire().hellos() == 1);
}

TEST_CASE("NoFreeDescriptorIsASystemErrorAndPasses", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 3;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const int code = seqd_ping(handle.client);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(code == SEQD_E_SYSTEM);
  CHECK(contains(handle.error(), "Too many open files"));
  CHECK(seqd_ping(handle.client) == SEQD_OK);
}

TEST_CASE("AnonymousHandleSaysNoIdentity", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon, 10'000, SEQD_ANONYMOUS | SEQD_DAEMON_WAIT);
  CHECK(handle.next() == 1);
  daemon.stop();
  CHECK(daemon.wire().identities_seen() == std::set<std::string>{""});
}

TEST_CASE("RequestSaysHowLongItMayWaitUnlessTheDaemonDecides", "[client]") {
  for (const std::uint64_t flags : {std::uint64_t{0}, std::uint64_t{SEQD_DAEMON_WAIT}}) {
    SocketDaemon daemon;
    std::int64_t waited = -1;
    daemon.wire().fault = [&](int, const protocol::Message& message) {
      auto reader = message.params;
      if (message.param_count == 2 && reader.skip() && reader.read_map() == 1U && reader.skip())
        waited = reader.read_integer().value_or(-2);
      return Fault::none;
    };
    daemon.start();
    Handle handle(daemon, 10'000, flags);
    handle.next();
    daemon.stop();
    CHECK(waited == (flags == 0 ? 9'000 : -1));
  }
}

TEST_CASE("CppClientGivesValuesAndErrors", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  client::Options options;
  options.socket_path = daemon.path();
  client::Client first(options);
  REQUIRE(first.next("orders").ok());
  client::Client moved(std::move(first));
  CHECK(*moved.next("orders") == 2);
  CHECK(moved.next_many("orders", 3).value() == std::vector<std::int64_t>{3, 4, 5});
  REQUIRE(moved.range("orders", 2));
  CHECK(moved.peek("orders")->next == 6 + 2);
  const auto missing = moved.next("missing");
  CHECK_FALSE(missing);
  CHECK(std::string(missing.error().name()) == "NO_SEQUENCE");
  CHECK(missing.error().text == "no sequence \"missing\" is configured");
  REQUIRE(moved.submit_next("orders", &moved).code == SEQD_OK);
  const auto replies = moved.poll(std::chrono::seconds(10));
  REQUIRE(replies->size() == 1);
  CHECK(replies->front().tag == &moved);
  CHECK(replies->front().id == 8);

  options.socket_path = std::string(200, 'x');
  client::Client never(options);
  CHECK(never.ping().error().code == SEQD_E_ARGUMENT);
}

}  // namespace seqd::engine
