// Many requests under way at once on one handle of the C ABI, and its place in an event loop.
#include <fcntl.h>
#include <poll.h>

#include <set>
#include <string>
#include <vector>

#include "tests/adapters/client/client_handle.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Fault = WireDaemon::Fault;

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
    REQUIRE(seqd_poll(handle.client, 10'000, replies.data(), sizeof(seqd_reply), replies.size(),
                      &used) == SEQD_OK);
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
    REQUIRE(seqd_poll(handle.client, 10'000, replies.data(), sizeof(seqd_reply), replies.size(),
                      &used) == SEQD_OK);
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
  REQUIRE(seqd_poll(handle.client, 0, replies, sizeof(seqd_reply), 4, &used) == SEQD_OK);
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
  CHECK(seqd_poll(handle.client, 2'000'000'000, &reply, sizeof(seqd_reply), 1, &used) == SEQD_OK);
  CHECK(used == 0);
}

TEST_CASE("EventLoopIsToldWhatToWatch", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  seqd_watch watched = SEQD_WATCH_INIT;
  REQUIRE(seqd_descriptor(handle.client, &watched) == SEQD_OK);
  CHECK(watched.descriptor == -1);
  CHECK(watched.timeout_ms == -1);
  REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == SEQD_OK);
  std::size_t used = 0;
  seqd_reply reply;
  while (used == 0) {
    REQUIRE(seqd_descriptor(handle.client, &watched) == SEQD_OK);
    CHECK(watched.timeout_ms >= 0);
    pollfd entry = {watched.descriptor, static_cast<short>(watched.events), 0};
    (void)::poll(&entry, 1, watched.timeout_ms);
    REQUIRE(seqd_poll(handle.client, 0, &reply, sizeof(seqd_reply), 1, &used) == SEQD_OK);
  }
  CHECK(reply.id == 1);
  REQUIRE(seqd_descriptor(handle.client, &watched) == SEQD_OK);
  CHECK(watched.descriptor >= 0);
  CHECK(watched.events == POLLIN);
  CHECK(watched.timeout_ms == -1);
  CHECK((::fcntl(watched.descriptor, F_GETFD) & FD_CLOEXEC) != 0);
}

// An application that takes a stock of IDs and then has no request for hours.
TEST_CASE("ABurstIsAcknowledgedByTheCallThatCollectsItsEnd", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  for (int i = 0; i < 100; ++i) {
    const char* const name = i % 2 == 0 ? "orders" : "invoices";
    REQUIRE(seqd_submit_next(handle.client, name, nullptr) == SEQD_OK);
  }
  std::vector<seqd_reply> replies(100);
  std::size_t all = 0;
  while (seqd_pending(handle.client) > 0) {
    std::size_t used = 0;
    REQUIRE(seqd_poll(handle.client, 10'000, replies.data(), sizeof(seqd_reply), replies.size(),
                      &used) == SEQD_OK);
    REQUIRE(used > 0);
    all += used;
  }
  CHECK(all == 100);
  seqd_watch watched = SEQD_WATCH_INIT;
  REQUIRE(seqd_descriptor(handle.client, &watched) == SEQD_OK);
  CHECK(watched.events == POLLIN);  // it is sent: an event loop is not woken for it
  daemon.stop();
  REQUIRE_FALSE(daemon.wire().acknowledgements().empty());
  CHECK(daemon.wire().acknowledgements().back() == 101);
}

// The answers behind one that does not come cannot be acknowledged before it is given up.
TEST_CASE("ABurstOfWhichOneRequestExpiresIsAcknowledged", "[client]") {
  const int withheld = GENERATE(1, 50, 100);
  SocketDaemon daemon;
  daemon.wire().fault = [withheld](int number, const protocol::Message&) {
    return number == withheld ? Fault::ignore : Fault::none;
  };
  daemon.start();
  Handle handle(daemon, 3'000);
  for (int i = 0; i < 100; ++i)
    REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == SEQD_OK);
  std::vector<seqd_reply> replies(100);
  std::size_t expired = 0;
  while (seqd_pending(handle.client) > 0) {
    std::size_t used = 0;
    REQUIRE(seqd_poll(handle.client, 10'000, replies.data(), sizeof(seqd_reply), replies.size(),
                      &used) == SEQD_OK);
    for (std::size_t i = 0; i < used; ++i) expired += replies[i].code == SEQD_E_TIMEOUT ? 1 : 0;
  }
  CHECK(expired == 1);
  daemon.stop();
  REQUIRE_FALSE(daemon.wire().acknowledgements().empty());
  // The last ones are left to the next request where they are few.
  CHECK(daemon.wire().acknowledgements().back() >= 93);
}

TEST_CASE("RequestsOneByOneAreAcknowledgedWithTheNextOne", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  for (int i = 1; i <= 30; ++i) CHECK(handle.next() == i);
  daemon.stop();
  CHECK(daemon.wire().acknowledgements() == std::vector<std::uint32_t>{2, 10, 18, 26});
}

}  // namespace
}  // namespace seqd::engine
