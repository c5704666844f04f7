#include "daemon/base/fifo.h"

#include <deque>
#include <memory>
#include <vector>

#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("WhatComesFirstIsTakenFirst", "[fifo]") {
  Fifo<int> fifo;
  CHECK(fifo.empty());
  for (int value = 1; value <= 5; ++value) fifo.push_back(value);
  fifo.pop_front();
  CHECK(fifo.front() == 2);
  fifo.pop_back();
  CHECK(fifo.back() == 4);
  CHECK(std::vector<int>(fifo.begin(), fifo.end()) == std::vector<int>{2, 3, 4});
}

TEST_CASE("ATakenFrontIsDestroyedAtOnce", "[fifo]") {
  Fifo<std::shared_ptr<int>> fifo;
  const auto value = std::make_shared<int>(1);
  for (int left = 0; left < 10; ++left) fifo.push_back(value);
  fifo.pop_front();
  CHECK(value.use_count() == 10);
}

TEST_CASE("TwoAreEqualWhoseValuesAre", "[fifo]") {
  Fifo<int> one, other;
  for (const int value : {7, 8, 9}) one.push_back(value);
  for (const int value : {8, 9}) other.push_back(value);
  CHECK_FALSE(one == other);
  one.pop_front();
  CHECK(one == other);
}

TEST_CASE("AFifoDoesWhatADequeDoes", "[fifo]") {
  SeededRandom random(20261126);
  Fifo<int> fifo;
  std::deque<int> deque;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t what = random.next() % 16;
    if (what < 7) {
      fifo.push_back(step);
      deque.push_back(step);
    } else if (what == 15) {
      const int part = static_cast<int>(random.next() % 5);
      fifo.erase_if([part](int value) { return value % 5 == part; });
      std::erase_if(deque, [part](int value) { return value % 5 == part; });
    } else if (!deque.empty() && what < 11) {
      fifo.pop_front();
      deque.pop_front();
    } else if (!deque.empty() && what < 13) {
      fifo.pop_back();
      deque.pop_back();
    } else if (!deque.empty()) {
      const auto at = static_cast<std::ptrdiff_t>(random.next() % deque.size());
      fifo.erase(fifo.begin() + at);
      deque.erase(deque.begin() + at);
    }
    REQUIRE(fifo.size() == deque.size());
    REQUIRE(std::equal(fifo.begin(), fifo.end(), deque.begin(), deque.end()));
    if (deque.empty()) continue;
    REQUIRE((fifo.front() == deque.front() && fifo.back() == deque.back()));
  }
}

}  // namespace
}  // namespace seqd
