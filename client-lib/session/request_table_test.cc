#include "client-lib/session/request_table.h"

#include <catch2/catch.hpp>

namespace seqd::engine {

TEST_CASE("FloorIsTheLowestNumberWithoutAnAnswer", "[client]") {
  RequestTable table(1);
  CHECK(table.first_unanswered() == 1);
  for (std::uint32_t number = 1; number <= 4; ++number) CHECK(table.add(Request()) == number);
  table.finish(2);
  table.finish(3);
  CHECK(table.first_unanswered() == 1);
  CHECK(table.find(2) == nullptr);
  table.finish(1);
  CHECK(table.first_unanswered() == 4);
  CHECK(table.size() == 1);
  table.finish(4);
  CHECK(table.first_unanswered() == 5);
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

TEST_CASE("ANameIsKeptAsLongAsARequestNeedsIt", "[client]") {
  RequestTable table(1);
  CHECK_FALSE(table.keeps("orders"));
  CHECK(table.add_next("orders", {}) == 1);
  CHECK(table.keeps("orders"));
  CHECK_FALSE(table.keeps("order"));
  CHECK(table.add_next("tickets", {}) == 2);
  CHECK(table.add_next("orders", {}) == 3);
  CHECK(table.keeps("orders"));
  CHECK(table.is_kept(1));
  CHECK_FALSE(table.is_kept(2));
  CHECK(table.is_kept(3));
  CHECK(table.name(2) == "tickets");
  CHECK(table.name(3) == "orders");
  table.finish(3);
  table.finish(1);
  CHECK(table.add_next("tickets", {}) == 4);  // nothing needs the other name any more
  CHECK(table.keeps("tickets"));
  CHECK(table.name(2) == "tickets");
  CHECK(table.name(4) == "tickets");
  table.finish(2);
  table.finish(4);
  // Their places are used again, by requests that have a name of their own and others.
  for (std::uint32_t number = 5; number < 50; number += 3) {
    CHECK(table.add_next("orders", {}) == number);
    CHECK(table.add_next("tickets", {}) == number + 1);
    Request range;
    range.name = "parts";
    const std::uint32_t added = table.add(std::move(range));
    CHECK(added == number + 2);
    CHECK(table.name(number) == "orders");
    CHECK(table.name(number + 1) == "tickets");
    CHECK(table.name(number + 2) == "parts");
    for (std::uint32_t done = number; done < number + 3; ++done) table.finish(done);
  }
}

TEST_CASE("ARunIsRequestsForTheKeptNameWithOneDeadline", "[client]") {
  RequestTable table(1);
  for (const std::int64_t deadline_ms : {5, 5, 5, 6, 6})
    (void)table.add_next("orders", {nullptr, deadline_ms, deadline_ms, false});
  (void)table.add_next("tickets", {nullptr, 6, 6, false});
  (void)table.add_next("orders", {nullptr, 6, 6, false});
  CHECK(table.mark_run_sent(1, 2) == 2);
  CHECK(table.first_unsent() == 3);
  CHECK(table.mark_run_sent(3, 10) == 1);
  CHECK(table.mark_run_sent(4, 10) == 2);
  CHECK(table.mark_run_sent(6, 10) == 0);
  CHECK(table.first_unsent() == 6);
  table.mark_sent(6);
  CHECK(table.mark_run_sent(7, 10) == 1);
  CHECK_FALSE(table.any_unsent());
  table.mark_unsent(2);
  CHECK(table.mark_run_sent(2, 10) == 1);
  table.mark_all_unsent();
  CHECK(table.mark_run_sent(1, 10) == 3);
}

}  // namespace seqd::engine
