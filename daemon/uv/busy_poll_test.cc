#include "daemon/uv/busy_poll.h"

#include <deque>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Found = BusyPoll::Found;

constexpr std::uint64_t kRoundNs = 1'000;  // what a look at the clock takes here
constexpr std::uint64_t kMsNs = 1'000'000;

// A connection; `arrives` says at which looks at it something is there.
struct Peer final : BusyPoll::Source {
  explicit Peer(BusyPoll& owner) : poll(owner) {}
  bool take_arrived() override {
    ++looks;
    if (arrives.empty() || arrives.front() > looks) return false;
    arrives.pop_front();
    poll.had_request(*this);
    return true;
  }
  BusyPoll& poll;
  int looks = 0;
  std::deque<int> arrives;
};

struct Polling {
  explicit Polling(std::int64_t limit_ms) { poll.set_limit(limit_ms); }
  Peer& peer(std::deque<int> arrives = {}) {
    peers.push_back(std::make_unique<Peer>(poll));
    peers.back()->arrives = std::move(arrives);
    return *peers.back();
  }
  // Slices until something else is found, each with the loop's look at everything behind it.
  Found look_on(int* slices = nullptr) {
    for (int count = 1;; ++count) {
      const Found found = poll.look();
      if (slices != nullptr) *slices = count;
      if (found != Found::everything) return found;
    }
  }
  std::uint64_t now_ns = 1;
  BusyPoll poll{[this] { return now_ns += kRoundNs; }};
  std::vector<std::unique_ptr<Peer>> peers;
};

TEST_CASE("BusyPollThatIsOffLooksAtNothing", "[busy_poll]") {
  Polling off(0);
  Peer& peer = off.peer({1});
  off.poll.had_request(peer);
  CHECK_FALSE(off.poll.enabled());
  CHECK(off.poll.look() == Found::nothing);
  CHECK(peer.looks == 0);
}

TEST_CASE("WithoutARequestTheLoopSleeps", "[busy_poll]") {
  Polling polling(1);
  polling.peer({1});
  CHECK(polling.poll.look() == Found::nothing);
}

TEST_CASE("AfterARequestItLooksForTheNextUntilTheTimeIsOver", "[busy_poll]") {
  Polling polling(1);
  Peer& peer = polling.peer({20});
  polling.poll.had_request(peer);
  REQUIRE(polling.look_on() == Found::input);
  CHECK(peer.looks == 20);
  const std::uint64_t came_ns = polling.now_ns;
  REQUIRE(polling.look_on() == Found::nothing);
  CHECK(polling.now_ns - came_ns >= kMsNs);
  CHECK(polling.now_ns - came_ns <= kMsNs + 20 * kRoundNs);
  const int looks = peer.looks;
  CHECK(polling.poll.look() == Found::nothing);
  CHECK(peer.looks == looks);
}

TEST_CASE("OnceASliceTheLoopLooksAtEverything", "[busy_poll]") {
  Polling polling(1);
  polling.poll.had_request(polling.peer());
  int slices = 0;
  REQUIRE(polling.look_on(&slices) == Found::nothing);
  CHECK(slices >= 10);
  CHECK(slices <= 11);
}

TEST_CASE("SliceEndsAlsoWhileRequestsComeWithoutARest", "[busy_poll]") {
  Polling polling(1'000);
  Peer& peer = polling.peer(std::deque<int>(1'000, 1));
  polling.poll.had_request(peer);
  int turns = 0;
  while (polling.poll.look() == Found::input) ++turns;
  CHECK(turns > 50);
  CHECK(turns <= static_cast<int>(BusyPoll::kSliceNs / kRoundNs));
}

TEST_CASE("OneThatNeverRestsDoesNotKeepTheOthersWaiting", "[busy_poll]") {
  Polling polling(1);
  Peer& flood = polling.peer(std::deque<int>(1'000, 1));
  Peer& calm = polling.peer({1});
  polling.poll.had_request(flood);
  polling.poll.had_request(calm);
  REQUIRE(polling.poll.look() == Found::input);
  CHECK(calm.arrives.empty());
}

TEST_CASE("OfManyTheLastOnesAreLookedAt", "[busy_poll]") {
  Polling polling(1);
  const std::size_t count = 2 * BusyPoll::kMostSources;
  for (std::size_t at = 0; at < count; ++at) polling.poll.had_request(polling.peer());
  REQUIRE(polling.look_on() == Found::nothing);
  for (std::size_t at = 0; at < count; ++at)
    CHECK((polling.peers[at]->looks > 0) == (at >= BusyPoll::kMostSources));
}

TEST_CASE("OneThatRestsIsNotLookedAtForTheOthers", "[busy_poll]") {
  Polling polling(1);
  Peer& resting = polling.peer();
  polling.poll.had_request(resting);
  REQUIRE(polling.look_on() == Found::nothing);
  Peer& busy = polling.peer(std::deque<int>(5'000, 1));
  polling.poll.had_request(resting);
  polling.poll.had_request(busy);
  int looks = 0;
  for (int turn = 0; turn < 4'000; ++turn) {
    REQUIRE(polling.poll.look() != Found::nothing);
    if (turn == 2'000) looks = resting.looks;
  }
  CHECK(resting.looks == looks);
}

TEST_CASE("AConnectionThatEndedIsNotLookedAt", "[busy_poll]") {
  Polling polling(1);
  Peer& ended = polling.peer({1});
  Peer& other = polling.peer({1});
  polling.poll.had_request(ended);
  polling.poll.had_request(other);
  polling.poll.forget(ended);
  REQUIRE(polling.poll.look() == Found::input);
  CHECK(ended.looks == 0);
  polling.poll.forget(other);
  CHECK(polling.poll.look() == Found::nothing);
}

TEST_CASE("SettingItToZeroEndsIt", "[busy_poll]") {
  Polling polling(1);
  polling.poll.had_request(polling.peer({1}));
  polling.poll.set_limit(0);
  CHECK(polling.poll.look() == Found::nothing);
}

}  // namespace
}  // namespace seqd
