// The C ABI between versions: callers with older and newer structures than the library, the text of
// a failed seqd_open, and what an event loop watches.
#include <poll.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <future>
#include <string>

#include "client-lib/seqd.hpp"
#include "protocol/messages.h"
#include "protocol/replies.h"
#include "protocol/values/value_writer.h"
#include "tests/adapters/client/client_handle.h"

namespace seqd::engine {
namespace {

using namespace testing;

// A structure of a version to come: a field more.
template <typename Structure>
struct Newer {
  Structure known;
  std::int64_t field = 0x7777;
};

seqd_watch watch(Handle& handle) {
  seqd_watch found = SEQD_WATCH_INIT;
  REQUIRE(seqd_descriptor(handle.client, &found) == SEQD_OK);
  return found;
}

std::size_t poll_once(Handle& handle, seqd_reply& reply) {
  std::size_t used = 0;
  REQUIRE(seqd_poll(handle.client, 0, &reply, sizeof(reply), 1, &used) == SEQD_OK);
  return used;
}

// Turns of an event loop until there is nothing to do, 100 at most.
int turns_until_quiet(Handle& handle) {
  for (int turns = 0; turns < 100; ++turns) {
    const seqd_watch watched = watch(handle);
    pollfd entry = {watched.descriptor, static_cast<short>(watched.events), 0};
    if (watched.timeout_ms != 0 && ::poll(&entry, 1, 0) == 0) return turns;
    seqd_reply reply;
    (void)poll_once(handle, reply);
  }
  return 100;
}

}  // namespace

TEST_CASE("FailedOpenGivesAHandleThatSaysWhy", "[client]") {
  seqd_options options = SEQD_OPTIONS_INIT;
  const std::string path(200, 'p');
  options.socket_path = path.c_str();
  seqd_client* client = nullptr;
  REQUIRE(seqd_open(&options, &client) == SEQD_E_ARGUMENT);
  REQUIRE(client != nullptr);
  const std::string why = "the socket path is longer than 107 bytes";
  CHECK(seqd_last_error(client) == why);
  std::int64_t id = 0;
  seqd_watch watched = SEQD_WATCH_INIT;
  CHECK(seqd_next(client, "orders", &id) == SEQD_E_ARGUMENT);
  CHECK(seqd_submit_next(client, "orders", nullptr) == SEQD_E_ARGUMENT);
  CHECK(seqd_descriptor(client, &watched) == SEQD_E_ARGUMENT);
  CHECK(seqd_pending(client) == 0);
  CHECK(seqd_last_error(client) == why);
  seqd_close(client);

  client::Options cpp;
  cpp.socket_path = path;
  CHECK(client::Client(cpp).next("orders").error().text == why);
}

TEST_CASE("OptionThatTheLibraryDoesNotKnowIsRefusedUnlessItIsZero", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Newer<seqd_options> options = {SEQD_OPTIONS_INIT, 1};
  options.known.size = sizeof(options);
  options.known.socket_path = daemon.path().c_str();
  seqd_client* client = nullptr;
  CHECK(seqd_open(&options.known, &client) == SEQD_E_ARGUMENT);
  CHECK(contains(seqd_last_error(client), "has a field that libseqd"));
  seqd_close(client);
  options.field = 0;
  REQUIRE(seqd_open(&options.known, &client) == SEQD_OK);
  CHECK(seqd_ping(client) == SEQD_OK);
  seqd_close(client);
}

TEST_CASE("CallerWithLargerStructuresGetsTheFieldsThatTheLibraryKnows", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["parse"] =
      "\x81\xa6"
      "number\x07";
  daemon.start();
  Handle handle(daemon);
  Newer<seqd_parsed> parsed = {SEQD_PARSED_INIT};
  parsed.known.size = sizeof(parsed);
  REQUIRE(seqd_parse(handle.client, "orders", "7", &parsed.known) == SEQD_OK);
  CHECK(parsed.known.number == 7);
  CHECK(parsed.known.size == sizeof(parsed));
  CHECK(parsed.field == 0x7777);
  Newer<seqd_peeked> peeked = {SEQD_PEEKED_INIT};
  peeked.known.size = sizeof(peeked);
  REQUIRE(seqd_peek(handle.client, "orders", &peeked.known) == SEQD_OK);
  CHECK(peeked.known.next == 1);
  CHECK(peeked.field == 0x7777);
  Newer<seqd_watch> watched = {SEQD_WATCH_INIT};
  watched.known.size = sizeof(watched);
  REQUIRE(seqd_descriptor(handle.client, &watched.known) == SEQD_OK);
  CHECK(watched.known.descriptor >= 0);
  CHECK(watched.field == 0x7777);
  // Of an array the caller's size is the stride, and what the library does not know is zero.
  Newer<seqd_reply> replies[3] = {};
  for (Newer<seqd_reply>& each : replies) each.field = 0x7777;
  for (int i = 0; i < 2; ++i) REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == 0);
  std::size_t used = 0;
  for (std::size_t all = 0; all < 2; all += used) {
    REQUIRE(seqd_poll(handle.client, 10'000, &replies[all].known, sizeof(replies[0]), 2 - all,
                      &used) == SEQD_OK);
  }
  CHECK(replies[0].known.id == 1);
  CHECK(replies[1].known.id == 2);
  CHECK(replies[1].field == 0);
  CHECK(replies[2].field == 0x7777);
}

TEST_CASE("StructureSmallerThanTheFirstVersionIsRefused", "[client]") {
  SocketDaemon daemon;
  Handle handle(daemon);
  seqd_parsed parsed = SEQD_PARSED_INIT;
  seqd_peeked peeked = SEQD_PEEKED_INIT;
  seqd_watch watched = SEQD_WATCH_INIT;
  seqd_reply reply;
  std::size_t used = 0;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{8}, offsetof(seqd_watch, timeout_ms)}) {
    parsed.size = std::min(size, offsetof(seqd_parsed, check));
    peeked.size = size;
    watched.size = size;
    CHECK(seqd_parse(handle.client, "orders", "7", &parsed) == SEQD_E_ARGUMENT);
    CHECK(seqd_peek(handle.client, "orders", &peeked) == SEQD_E_ARGUMENT);
    CHECK(seqd_descriptor(handle.client, &watched) == SEQD_E_ARGUMENT);
    CHECK(seqd_poll(handle.client, 0, &reply, size, 1, &used) == SEQD_E_ARGUMENT);
  }
}

TEST_CASE("PeekTellsAnIdOfZeroFromAnUnknownOne", "[client]") {
  SocketDaemon daemon;
  daemon.wire().garbage = std::string("\x94\x01\x01\xc0\x82\xa4next\x00\xa4last\xc0", 17);
  daemon.wire().fault = [](int, const protocol::Message&) { return WireDaemon::Fault::garbage; };
  daemon.start();
  Handle handle(daemon);
  seqd_peeked peeked = SEQD_PEEKED_INIT;
  REQUIRE(seqd_peek(handle.client, "orders", &peeked) == SEQD_OK);
  CHECK(peeked.next == 0);
  CHECK(peeked.next_known == 1);
  CHECK(peeked.last_known == 0);
}

TEST_CASE("IdleHandleInAnEventLoopIsQuietAfterTheDaemonHasGone", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  CHECK(handle.next() == 1);
  CHECK(turns_until_quiet(handle) == 0);
  const seqd_watch before = watch(handle);
  CHECK(before.descriptor >= 0);
  daemon.stop();
  CHECK(turns_until_quiet(handle) <= 1);
  const seqd_watch closed = watch(handle);
  CHECK(closed.descriptor == -1);
  CHECK(closed.timeout_ms == -1);
  CHECK(closed.generation != before.generation);
  daemon.start();
  CHECK(handle.next() == 2);
  const seqd_watch after = watch(handle);
  CHECK(after.descriptor >= 0);
  CHECK(after.generation != before.generation);
  CHECK(after.generation != closed.generation);
  CHECK(turns_until_quiet(handle) == 0);
}

TEST_CASE("ReconnectInsideACallIsAnotherGeneration", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 2 ? WireDaemon::Fault::close_after : WireDaemon::Fault::none;
  };
  daemon.start();
  Handle handle(daemon);
  CHECK(handle.next() == 1);
  const seqd_watch before = watch(handle);
  CHECK(watch(handle).generation == before.generation);
  CHECK(handle.next() == 2);
  // The system mostly gives the number again that was closed last; only the generation tells.
  CHECK(watch(handle).generation != before.generation);
}

TEST_CASE("RequestsThatExpiredUnsentAreNeverSent", "[client]") {
  SocketDaemon daemon;
  std::promise<void> read_on;
  daemon.wire().fault = [held = read_on.get_future().share()](int number, const auto&) {
    if (number == 2) held.wait();
    return WireDaemon::Fault::none;
  };
  daemon.start();
  Handle handle(daemon, 5'000);
  CHECK(handle.next() == 1);
  // More than the socket takes while the daemon reads nothing.
  const std::string document =
      "\x81\xa1"
      "a\xda\x80\x01" +
      std::string(0x8001, 'x');
  constexpr int kRequests = 64;
  for (int at = 0; at < kRequests; ++at) {
    REQUIRE(seqd_submit_insert(handle.client, "people", document.data(), document.size(),
                               nullptr) == SEQD_OK);
  }
  int expired = 0;
  while (seqd_pending(handle.client) > 0) {
    seqd_reply reply;
    std::size_t used = 0;
    REQUIRE(seqd_poll(handle.client, 10'000, &reply, sizeof(reply), 1, &used) == SEQD_OK);
    if (used == 1 && reply.code != SEQD_OK) ++expired;
  }
  CHECK(expired == kRequests);
  CHECK(watch(handle).descriptor == -1);
  CHECK(turns_until_quiet(handle) == 0);
  read_on.set_value();
  daemon.stop();
  CHECK(daemon.wire().requests() < 1 + kRequests);
}

TEST_CASE("LateAnswerToAnIdleHandleIsReadAndQuiet", "[client]") {
  SocketDaemon daemon;
  std::promise<void> timed_out;
  daemon.instead = [&](int descriptor) {
    WireDaemon::Connection connection;
    char bytes[4'096];
    for (int received = 0; received < 2; ++received) {
      const ssize_t count = ::recv(descriptor, bytes, sizeof(bytes), 0);
      if (count <= 0) return;
      protocol::Buffer out;
      (void)daemon.wire().receive(connection, {bytes, static_cast<std::size_t>(count)}, out);
      if (received == 1) timed_out.get_future().wait();
      (void)::send(descriptor, out.data(), out.size(), MSG_NOSIGNAL);
    }
    (void)::recv(descriptor, bytes, sizeof(bytes), 0);
  };
  daemon.start();
  {
    Handle handle(daemon, 5'000);
    std::int64_t id = 0;
    CHECK(seqd_next(handle.client, "orders", &id) == SEQD_E_TIMEOUT);
    timed_out.set_value();
    const seqd_watch watched = watch(handle);
    pollfd entry = {watched.descriptor, static_cast<short>(watched.events), 0};
    REQUIRE(::poll(&entry, 1, -1) == 1);
    CHECK(turns_until_quiet(handle) == 1);
    CHECK(watch(handle).generation == watched.generation);
  }
}

TEST_CASE("InsertIntoAConnectionThatTheDaemonClosedGoesOverTheNextOne", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  CHECK(handle.next() == 1);
  daemon.stop();
  daemon.start();
  const std::string document(
      "\x81\xa1"
      "a\x07");
  std::int64_t id = 0;
  CHECK(seqd_insert(handle.client, "people", document.data(), document.size(), &id) == SEQD_OK);
}

}  // namespace seqd::engine
