#include "client-lib/session/request_table.h"

#include <catch2/catch.hpp>

namespace seqd::engine {

TEST_CASE("FloorIsTheLowestNumberWithoutAnAnswer", "[client]") {
  RequestTable table(1);
  CHECK(table.floor() == 1);
  for (std::uint32_t number = 1; number <= 4; ++number) CHECK(table.add(Request()) == number);
  table.finish(2);
  table.finish(3);
  CHECK(table.floor() == 1);
  CHECK(table.find(2) == nullptr);
  table.finish(1);
  CHECK(table.floor() == 4);
  CHECK(table.size() == 1);
  table.finish(4);
  CHECK(table.floor() == 5);
  CHECK(table.empty());
  CHECK(table.find(4) == nullptr);
  CHECK(table.find(5) == nullptr);
}

TEST_CASE("UnsentRequestsAreFoundInOrderAlsoAfterALostConnection", "[client]") {
  RequestTable table(7);
  CHECK(table.first_unsent() == 0);
  for (int i = 0; i < 4; ++i) table.add(Request());
  CHECK(table.first_unsent() == 7);
  for (std::uint32_t number = 7; number <= 10; ++number) table.mark_sent(number);
  CHECK(table.first_unsent() == 0);
  table.finish(8);
  table.mark_unsent(9);
  CHECK(table.first_unsent() == 9);
  CHECK(table.any_sent());
  table.mark_all_unsent();
  CHECK_FALSE(table.any_sent());
  CHECK(table.first_unsent() == 7);
  table.mark_sent(7);
  CHECK(table.first_unsent() == 9);
  CHECK(table.is_sent(7));
  CHECK_FALSE(table.is_sent(8));
}

}  // namespace seqd::engine
