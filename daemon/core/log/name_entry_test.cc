#include "daemon/core/log/name_entry.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("SpansAreInOrderWithoutOverlapsAndNotTooMany", "[log]") {
  CHECK_FALSE(are_spans({{1, 1}}));
  CHECK_FALSE(are_spans({{1, 3}, {2, 4}}));
  CHECK_FALSE(are_spans({{1, 2, -1}}));
  CHECK(are_spans({{1, 2, 5}, {2, 3, 7}}));
  CHECK_FALSE(are_spans({{5, 6}, {2, 3}}));
  CHECK(are_spans({{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
  CHECK_FALSE(are_spans({{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}));
}

}  // namespace
}  // namespace seqd
