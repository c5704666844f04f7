#include "daemon/base/id_range.h"

#include <limits>
#include <utility>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("MovedFromRangeIsEmpty", "[id_range]") {
  IdRange from(10, 20);
  const IdRange to(std::move(from));
  REQUIRE(from.empty());  // NOLINT(bugprone-use-after-move): what is tested
  REQUIRE(to.begin() == 10);
  REQUIRE(to.end() == 20);
  REQUIRE(to.size() == 10);
}

TEST_CASE("AssignedRangeTakesEverythingOver", "[id_range]") {
  IdRange from(10, 20);
  IdRange to(1, 3);
  to = std::move(from);
  REQUIRE(from.empty());  // NOLINT(bugprone-use-after-move): what is tested
  REQUIRE(to.size() == 10);
  IdRange& same = to;
  to = std::move(same);
  REQUIRE(to.size() == 10);
}

TEST_CASE("TakenFrontAndRestAreTheWhole", "[id_range]") {
  IdRange range(5, 9);
  const IdRange none = range.take_front(0);
  REQUIRE(none.empty());
  const IdRange front = range.take_front(3);
  REQUIRE(front.begin() == 5);
  REQUIRE(front.end() == 8);
  REQUIRE(range.begin() == 8);
  const IdRange last = range.take_front(1);
  REQUIRE(last.begin() == 8);
  REQUIRE(range.empty());
}

TEST_CASE("LargestRangeHasItsSize", "[id_range]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  IdRange range(0, most);
  REQUIRE(range.size() == most);
  REQUIRE(range.take_front(most).end() == most);
  REQUIRE(range.empty());
}

}  // namespace
}  // namespace seqd
