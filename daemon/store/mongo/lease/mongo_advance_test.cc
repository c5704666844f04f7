// Raising a counter of MongoDB beside others who move it at the same moment. A real server and its
// fail points.
#include "daemon/store/mongo/lease/mongo_advance.h"

#include <fmt/format.h>

#include <string>

#include "tests/adapters/mongo/held_command.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_contract.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

// A store whose writes, and nobody else's, wait in the server for a moment.
struct Delayed {
  Delayed(int block, const std::string& json, const char* variable = kMongoAlone)
      : server(variable), name("advance-" + server.database()), block_ms(block) {
    MongoStoreOptions options = server.options();
    options.uri = with_uri_option(options.uri, "appName=" + name);
    store = open_mongo_store(options);
    server.put("counters", "orders", json);
  }

  // Raises the counter to 500; `meanwhile` runs between its reading and its write.
  template <typename Meanwhile>
  bool advance(Meanwhile meanwhile) {
    return with(
        [&] {
          reached = store->advance({.binding = lease_request("orders", 1).binding, .next_id = 500});
        },
        meanwhile);
  }

  // `meanwhile` runs before the first write of `call`. False: the machine was too slow to say
  // anything.
  template <typename Call, typename Meanwhile>
  bool with(Call call, Meanwhile meanwhile, const char* command = "findAndModify") {
    return testing::while_held(server, {name, block_ms, command}, call, meanwhile);
  }

  MongoServer server;
  const std::string name;
  const int block_ms;
  OpenMongoStore store;
  Result<std::int64_t> reached = Status(ErrorCode::INTERNAL, "not asked");
};

constexpr char kAtTen[] = R"({"seq": {"$numberLong": "10"}, "seqd": {"meaning": "last"}})";

TEST_CASE("MongoAdvance: a counter that others moved past it meanwhile is not lowered", "[mongo]") {
  until_in_time([](int block_ms) {
    Delayed delayed(block_ms, kAtTen);
    const bool in_time = delayed.advance(
        [&] { delayed.server.foreign_increment("counters", "orders", "seq", 990); });
    if (!in_time) return false;
    INFO(delayed.reached.status().to_string());
    REQUIRE(delayed.reached.ok());
    REQUIRE(*delayed.reached == 1001);
    REQUIRE(delayed.server.number("counters", "orders", "seq") == 1000);
    return true;
  });
}

bool is_not_applied_under_a_floor(Reuse reuse, int block_ms) {
  Delayed delayed(block_ms, kAtTen);
  const auto lease = lease_request("orders", 10, LeaseTrace::slot);
  testing::require_granted(delayed.store->lease(lease), 11, 21);
  const auto back = testing::return_of(lease, 15, 21, reuse, LeaseTrace::slot);
  ReturnOutcome outcome;
  Result<std::int64_t> reached = Status(ErrorCode::INTERNAL, "not asked");
  const bool in_time = delayed.with(
      [&] { outcome = delayed.store->return_range(back); },
      [&] {
        auto other = open_mongo_store(delayed.server.options());
        reached = other->advance({.binding = lease.binding, .next_id = 1, .withdraw = true});
      });
  if (!in_time) return false;
  REQUIRE(reached.ok());
  REQUIRE(*reached == 21);
  testing::require_kept(outcome, ErrorCode::STORE_REFUSED);
  const auto reading = delayed.store->read({.binding = lease.binding, .instance = {}});
  REQUIRE(reading->next_id == 21);
  REQUIRE(reading->floor == 21);
  REQUIRE(reading->parked.ranges == 0);
  return true;
}

TEST_CASE("MongoAdvance: a return that is under way when the floor is set is not applied",
          "[mongo]") {
  const Reuse reuse = GENERATE(Reuse::tail, Reuse::parked);
  until_in_time([&](int block_ms) { return is_not_applied_under_a_floor(reuse, block_ms); });
}

TEST_CASE("MongoAdvance: a range that is parked in a transaction does not appear below a new floor",
          "[mongo]") {
  const int number = GENERATE(0, 1);  // of the document: an int64, a double
  Delayed delayed(500, number == 0 ? kAtTen : R"({"seq": 10.0, "seqd": {"meaning": "last"}})",
                  testing::kMongoReplicaSet);
  auto lease = lease_request("orders", 10, LeaseTrace::transaction);
  REQUIRE(*delayed.store->claim({.instance = lease.instance, .epoch = 0, .nonce = lease.token}) ==
          ClaimOutcome::won);
  testing::require_granted(delayed.store->lease(lease), 11, 21);
  const auto back = testing::return_of(lease, 15, 21, Reuse::parked, LeaseTrace::transaction);
  ReturnOutcome outcome;
  Result<std::int64_t> reached = Status(ErrorCode::INTERNAL, "not asked");
  // Everything but the commit is done when the floor is set, which waits for the commit.
  delayed.with([&] { outcome = delayed.store->return_range(back); },
               [&] {
                 auto other = open_mongo_store(delayed.server.options());
                 reached =
                     other->advance({.binding = lease.binding, .next_id = 1, .withdraw = true});
               },
               "commitTransaction");
  REQUIRE(reached.ok());
  REQUIRE(*reached == 21);
  const auto reading = delayed.store->read({.binding = lease.binding, .instance = {}});
  INFO(outcome.error.to_string());
  CHECK(reading->floor == 21);
  CHECK(reading->parked.ranges == 0);
  CHECK(delayed.server.number("counters", "orders", "seq") == 20);
  testing::require_granted(
      delayed.store->lease(testing::of_another_host(lease, true, LeaseTrace::transaction)), 21, 31);
}

TEST_CASE("MongoAdvance: a counter that was deleted meanwhile is made", "[mongo]") {
  until_in_time([](int block_ms) {
    Delayed delayed(block_ms, kAtTen);
    if (!delayed.advance([&] { delayed.server.remove("counters", "orders"); })) return false;
    INFO(delayed.reached.status().to_string());
    REQUIRE(delayed.reached.ok());
    REQUIRE(*delayed.reached == 500);
    REQUIRE(delayed.server.number("counters", "orders", "seq") == 499);
    return true;
  });
}

TEST_CASE("MongoAdvance: two numbers of one document have their own floor and meaning", "[mongo]") {
  const LeaseTrace trace = GENERATE(LeaseTrace::session, LeaseTrace::slot);
  MongoServer server(kMongoReplicaSet);
  auto store = open_mongo_store(
      server, trace == LeaseTrace::slot ? LeaseModeOption::slot : LeaseModeOption::session);
  auto one = lease_request("orders", 10, trace);
  one.binding.meaning = GENERATE(Meaning::last, Meaning::next);
  testing::require_granted(store->lease(one), 1, 11);  // seqd makes the document, and marks it
  server.command(R"({"update": "counters", "updates": [{"q": {"_id": "orders"},
                     "u": {"$set": {"invoices": {"$numberLong": "50"}}}}]})");
  auto two = lease_request("orders", 10, trace);
  two.sequence = "invoices";
  two.binding.counter_field = "invoices";
  // The mark is that of the other number.
  testing::require_refused(store->lease(two), ErrorCode::SEQ_MEANING);
  two.binding.meaning = one.binding.meaning == Meaning::last ? Meaning::next : Meaning::last;
  const std::int64_t first = two.binding.meaning == Meaning::last ? 51 : 50;
  two.token = testing::random_token(trace);
  testing::require_granted(store->lease(two), first, first + 10);
  REQUIRE(*store->advance({.binding = one.binding, .next_id = 1'000, .withdraw = true}) == 1'000);
  REQUIRE(store->read({.binding = one.binding, .instance = {}})->floor == 1'000);
  REQUIRE(store->read({.binding = two.binding, .instance = {}})->floor == 0);
  const auto back = testing::return_of(two, first + 5, first + 10, Reuse::parked, trace);
  testing::require_returned(store->return_range(back));
  // The first number's mark still counts for the first number.
  one.binding.meaning = Meaning::unset;
  one.token = testing::random_token(trace);
  one.high_water = 11;
  testing::require_granted(store->lease(one), 1'000, 1'010);
}

}  // namespace
}  // namespace seqd
