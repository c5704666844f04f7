// A look-up that meets the lease it looks for, and one that must not make what it does not find.
// Real servers and their fail points.
#include "daemon/store/mongo/documents/mongo_lease_records.h"

#include <fmt/format.h>

#include <string>

#include "tests/adapters/mongo/held_command.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

// False: the machine was too slow to say anything.
bool is_found_while_given_up(LeaseTrace trace, bool first, int block_ms) {
  MongoServer server(is_in_ledger(trace) ? kMongoReplicaSet : kMongoAlone);
  MongoStoreOptions options = server.options();
  options.lease_mode = trace == LeaseTrace::slot ? LeaseModeOption::slot : LeaseModeOption::session;
  auto sender = open_mongo_store(options);
  const std::string name = "resolving-" + server.database();
  options.uri = with_uri_option(options.uri, "appName=" + name);
  auto resolver = open_mongo_store(options);
  LeaseRequest request = lease_request("orders", 10, trace);
  REQUIRE(*sender->claim({.instance = request.instance, .epoch = 0, .nonce = request.token}) ==
          ClaimOutcome::won);
  server.put("counters", "orders", R"({"seq": {"$numberLong": "0"}, "seqd": {"meaning": "last"}})");
  if (!first) {
    REQUIRE(sender->lease(request).begin == 1);
    request = lease_request("orders", 10, trace);
  }
  Resolution resolution;
  // The record was read and says nothing of the token; what gives it up waits in the server.
  LeaseOutcome outcome;
  const bool in_time = while_held(
      server, {name, block_ms}, [&] { resolution = resolver->resolve(request); },
      [&] { outcome = sender->lease(request); });
  if (!in_time) return false;
  INFO(outcome.error.to_string() << resolution.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);
  REQUIRE(resolution.kind == Resolution::Kind::granted);
  REQUIRE(resolution.begin == outcome.begin);
  REQUIRE(resolution.end == outcome.end);
  return true;
}

TEST_CASE("MongoLeaseRecords: a lease that is applied while its token is given up is found",
          "[mongo]") {
  const LeaseTrace trace = GENERATE(LeaseTrace::transaction, LeaseTrace::slot, LeaseTrace::session);
  const bool first = GENERATE(true, false);
  INFO(lease_trace_word(trace) << (first ? ", the first lease" : ""));
  until_in_time([&](int block_ms) { return is_found_while_given_up(trace, first, block_ms); });
}

TEST_CASE("MongoLeaseRecords: a look-up makes no counter in a field whose index it did not see",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  auto store = open_mongo_store(server, LeaseModeOption::slot);
  LeaseRequest request = lease_request("240131", 10, LeaseTrace::slot);
  request.binding.key_field = "prefix";
  REQUIRE(*store->claim({.instance = request.instance, .epoch = 0, .nonce = request.token}) ==
          ClaimOutcome::won);
  // The request never arrived, and nothing of the counter is there.
  REQUIRE(store->resolve(request).kind == Resolution::Kind::untraceable);
  REQUIRE(server.count("counters") == 0);
}

TEST_CASE("MongoLeaseRecords: the newest tokens of a bounded number of lease slots are kept",
          "[mongo]") {
  MongoServer server(kMongoAlone);
  auto clients =
      MongoClients::open(testing::mongo_driver(), std::move(*read_mongo_uri(server.options())));
  REQUIRE(clients.ok());
  MongoLeaseRecords records(**clients);
  LeaseRequest request = lease_request("orders", 10, LeaseTrace::slot);
  const std::size_t more = MongoLeaseRecords::kMostLeaseSlots + 10;
  for (std::size_t at = 0; at < more; ++at) {
    request.sequence = fmt::format("orders-{}", at);
    records.learn(request, LeaseRecord{.token = request.token});
    REQUIRE(records.newest(request) == request.token);
  }
  std::size_t kept = 0;
  for (std::size_t at = 0; at < more; ++at) {
    request.sequence = fmt::format("orders-{}", at);
    kept += records.newest(request).has_value() ? 1 : 0;
  }
  REQUIRE(kept == MongoLeaseRecords::kMostLeaseSlots);
}

}  // namespace
}  // namespace seqd
