#include "client-lib/session/ring.h"

#include <catch2/catch.hpp>
#include <deque>
#include <memory>

namespace seqd::engine {

TEST_CASE("RingGivesItsElementsInOrderHoweverItGrows", "[client]") {
  Ring<int> ring;
  std::deque<int> expected;
  int next = 0;
  // Fills and drains in other rhythms, so that growth meets every position of the head.
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < round % 37; ++i) {
      ring.push_back(int{next});
      expected.push_back(next++);
    }
    for (int i = 0; i < round % 31 && !expected.empty(); ++i) {
      REQUIRE(ring.front() == expected.front());
      ring.pop_front();
      expected.pop_front();
    }
    REQUIRE(ring.size() == expected.size());
    for (std::size_t at = 0; at < expected.size(); ++at) REQUIRE(ring[at] == expected[at]);
  }
  CHECK(ring.size() > 64);
}

TEST_CASE("RingGivesTheMemoryOfAnElementBackWhenItGoes", "[client]") {
  const auto element = std::make_shared<int>(1);
  Ring<std::shared_ptr<int>> ring;
  ring.push_back(std::shared_ptr<int>(element));
  CHECK(element.use_count() == 2);
  ring.pop_front();
  CHECK(element.use_count() == 1);
  CHECK(ring.empty());
}

}  // namespace seqd::engine
