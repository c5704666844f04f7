// The descriptor of a page on its way: the daemon's connection passes it with the reply, and
// libseqd's takes it. Both are the real ones, on a real socket.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "client-lib/session/connection.h"
#include "daemon/os/page_files.h"
#include "daemon/uv/connection.h"
#include "protocol/block_slot.h"
#include "tests/adapters/loop_daemon.h"

namespace seqd {
namespace {

using testing::LoopDaemon;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd"))
    count += one.exists() ? 1 : 0;
  return count;
}

struct Place {
  Place() { REQUIRE(mkdtemp(root.data()) != nullptr); }
  ~Place() { std::filesystem::remove_all(root); }
  std::string root = "/dev/shm/seqd-test-XXXXXX";
};

struct Running {
  Running() : files(place.root, {1, 2}), daemon({}, {}, &files) {
    REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).ok());
  }
  Place place;
  PageFiles files;
  LoopDaemon daemon;
};

// One connection as libseqd makes it.
struct Asker {
  explicit Asker(Running& world) : running(world) {
    connection.take_descriptors();
    REQUIRE(connection.open(world.daemon.path()) == 0);
  }
  void send(std::string_view bytes) {
    protocol::Buffer out;
    out.append(bytes);
    REQUIRE(connection.send(out) == 0);
    REQUIRE(out.empty());
  }
  void read() {
    const auto received = connection.receive();
    using Kind = engine::Connection::Received::Kind;
    if (received.kind == Kind::bytes) line.received.append(received.bytes);
    if (received.kind == Kind::lost) ended = true;
  }
  std::vector<Reply> replies(std::size_t count) {
    std::vector<Reply> all;
    running.daemon.run_until([&] {
      read();
      for (Reply& reply : line.replies()) all.push_back(std::move(reply));
      return all.size() >= count;
    });
    return all;
  }
  Reply ask(std::string_view bytes) {
    send(bytes);
    return replies(1).at(0);
  }
  void hello(std::uint8_t identity = 1) {
    REQUIRE(ask(hello_request(0, identity)).code == ErrorCode::OK);
  }

  Running& running;
  engine::Connection connection;
  Line line;
  bool ended = false;
};

}  // namespace

TEST_CASE("APageLeavesWithItsReply", "[pages]") {
  Running running;
  Asker asker(running);
  asker.hello();
  const Reply reply = asker.ask(plain_request(1, "page"));
  REQUIRE(reply.code == ErrorCode::OK);
  protocol::ValueReader result = reply.result();
  CHECK(result.read_array() == 2U);
  CHECK(result.read_integer() == protocol::kBlockSlots);
  CHECK(result.read_integer() == std::int64_t{protocol::kBlockSlotBytes});
  const int page = asker.connection.take_descriptor();
  struct stat found {};
  REQUIRE(::fstat(page, &found) == 0);
  CHECK(found.st_size == static_cast<off_t>(protocol::kBlockPageBytes));
  CHECK(asker.connection.take_descriptor() == -1);
  ::close(page);
}

TEST_CASE("OnlyAClientWithAnIdentityHasAPage", "[pages]") {
  Running running;
  Asker asker(running);
  CHECK(asker.ask(plain_request(1, "page")).code == ErrorCode::BAD_REQUEST);
  CHECK(asker.connection.take_descriptor() == -1);
}

TEST_CASE("WhoDoesNotReadIsNotPassedPageAfterPage", "[pages]") {
  Running running;
  Asker asker(running);
  asker.hello();
  const std::size_t before = open_descriptors();
  for (std::uint32_t number = 1; number <= Connection::kMostPassed + 1; ++number) {
    asker.send(plain_request(number, "page"));
    running.daemon.run_turns();
  }
  CHECK(open_descriptors() == before + 1);  // the page itself
  const auto replies = asker.replies(Connection::kMostPassed + 1);
  for (int at = 0; at < Connection::kMostPassed; ++at)
    CHECK(replies[static_cast<std::size_t>(at)].code == ErrorCode::OK);
  CHECK(replies.back().code == ErrorCode::BUSY);
  // It has read them.
  CHECK(asker.ask(plain_request(99, "page")).code == ErrorCode::OK);
}

TEST_CASE("OnePageIsPassedInATurn", "[pages]") {
  Running running;
  Asker asker(running);
  asker.hello();
  asker.send(plain_request(1, "page") + plain_request(2, "page"));
  const auto replies = asker.replies(2);
  CHECK(replies[0].code == ErrorCode::OK);
  CHECK(replies[1].code == ErrorCode::BUSY);
}

namespace {

// Replies that nobody reads fill the socket; then the page is asked for.
void ask_into_a_full_socket(Running& running) {
  Asker asker(running);
  asker.hello();
  std::string pings;
  for (std::uint32_t number = 1; number <= 60'000; ++number) pings += plain_request(number, "ping");
  protocol::Buffer out;
  out.append(pings);
  out.append(plain_request(70'000, "page"));
  running.daemon.run_until([&] {
    if (!out.empty() && running.daemon.server->counts().connections > 0)
      REQUIRE(asker.connection.send(out) == 0);
    return running.daemon.server->counts().connections == 0;
  });
  running.daemon.run_until([&] {
    asker.read();
    return asker.ended;
  });
  CHECK(asker.connection.take_descriptor() == -1);
}

}  // namespace

// What cannot leave with its descriptor at once does not leave at all.
TEST_CASE("APageForAFullSocketEndsTheConnection", "[pages]") {
  Running running;
  ask_into_a_full_socket(running);
  running.daemon.run_turns();
  const std::size_t before = open_descriptors();  // with what is opened once
  ask_into_a_full_socket(running);
  running.daemon.run_turns();
  CHECK(open_descriptors() == before);
}

}  // namespace seqd
