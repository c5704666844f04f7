// The C ABI over real sockets: its calls, its arguments, its process. Lost connections are in
// client_connection_test.cc, pipelines in client_pipeline_test.cc.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "client-lib/seqd.hpp"
#include "tests/adapters/client/client_handle.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Fault = WireDaemon::Fault;

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
  seqd_peeked peeked = SEQD_PEEKED_INIT;
  REQUIRE(seqd_peek(handle.client, "orders", &peeked) == SEQD_OK);
  CHECK(peeked.next == 1);
  CHECK(peeked.next_known == 1);
  CHECK(peeked.available == 7);
  CHECK(peeked.last_known == 0);
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
  CHECK(seqd_poll(client, -1, nullptr, sizeof(seqd_reply), 0, &used) == SEQD_E_ARGUMENT);
  CHECK(seqd_poll(client, 0, nullptr, sizeof(seqd_reply), 1, &used) == SEQD_E_ARGUMENT);
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
  SECTION("a time to poll below 0") {
    options.busy_poll_us = -1;
  }
  SECTION("a time to poll above a second") {
    options.busy_poll_us = 1'000'001;
  }
  SECTION("flags of the future") {
    options.flags = 1U << 20;
  }
  seqd_client* client = nullptr;
  CHECK(seqd_open(&options, &client) == SEQD_E_ARGUMENT);
  CHECK(std::string(seqd_last_error(client)) != "");
  seqd_close(client);
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
    if (flags == 0) {
      CHECK(waited > 0);
      CHECK(waited <= 9'000);
    } else {
      CHECK(waited == -1);
    }
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
  CHECK(replies->front().id() == 8);
  // No number is too large to be refused.
  for (const std::size_t count : {std::size_t{0}, std::size_t{10'000'001}, SIZE_MAX})
    CHECK(moved.next_many("orders", count).error().code == SEQD_E_ARGUMENT);
  REQUIRE(moved.submit_next("orders", nullptr).code == SEQD_OK);
  CHECK(moved.poll(std::chrono::seconds(10), SIZE_MAX)->size() == 1);

  options.socket_path = std::string(200, 'x');
  client::Client never(options);
  CHECK(never.ping().error().code == SEQD_E_ARGUMENT);
}

TEST_CASE("MovedFromCppClientAnswersAnError", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  client::Options options;
  options.socket_path = daemon.path();
  client::Client first(options);
  REQUIRE(first.next("orders").ok());
  client::Client second(std::move(first));
  client::Client third(options);
  third = std::move(second);
  // NOLINTNEXTLINE(bugprone-use-after-move): what is tested
  for (client::Client* empty : {&first, &second}) {
    const auto id = empty->next("orders");
    CHECK_FALSE(id.ok());
    CHECK(id.error().code == SEQD_E_ARGUMENT);
    CHECK(id.error().text == "this seqd::client::Client was moved from");
    CHECK(empty->submit_next("orders", nullptr).code == SEQD_E_ARGUMENT);
    CHECK(empty->poll(std::chrono::seconds(0)).error().code == SEQD_E_ARGUMENT);
    CHECK(empty->pending() == 0);
  }
  CHECK(*third.next("orders") == 2);
}

// Runs `use` in a child process: whether it ends by abort().
template <typename Use>
bool aborts(Use use) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Catch's own handler would report a failed test
    (void)::freopen("/dev/null", "w", stderr);
    use();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST_CASE("FailedResultCannotBeUsedAsAnId", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  client::Options options;
  options.socket_path = daemon.path();
  client::Client client(options);
  const auto failed = client.next("missing");
  CHECK(aborts([&] { (void)*failed; }));
  CHECK(aborts([&] { (void)failed.value(); }));
  CHECK(aborts([&] { (void)*client::Result<std::int64_t>(failed.error()); }));
  CHECK(aborts([&] { (void)client::Result<client::Peek>(failed.error())->next; }));
  CHECK(aborts([&] { (void)client::Result<std::int64_t>(client::Error()).value(); }));
  CHECK_FALSE(aborts([&] { (void)*client::Result<std::int64_t>(7); }));

  REQUIRE(client.submit_next("missing", nullptr).code == SEQD_OK);
  REQUIRE(client.submit_next_text("orders", nullptr).code == SEQD_OK);
  REQUIRE(client.submit_range("orders", 2, nullptr).code == SEQD_OK);
  std::vector<client::Reply> replies;
  while (client.pending() > 0) {
    const auto some = client.poll(std::chrono::seconds(10));
    REQUIRE(some.ok());
    replies.insert(replies.end(), some->begin(), some->end());
  }
  REQUIRE(replies.size() == 3);
  CHECK(replies[0].error.code == SEQD_E_NO_SEQUENCE);
  CHECK(aborts([&] { (void)replies[0].id(); }));
  CHECK(aborts([&] { (void)replies[0].runs(); }));
  CHECK(aborts([&] { (void)replies[0].text(); }));
  CHECK(replies[1].text() == "T-1");
  CHECK(aborts([&] { (void)replies[1].id(); }));
  CHECK(aborts([&] { (void)replies[1].runs(); }));
  CHECK(replies[2].id() == 2);
  CHECK(aborts([&] { (void)replies[2].text(); }));
}

}  // namespace seqd::engine
