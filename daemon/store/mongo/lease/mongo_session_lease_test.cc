// Leases of mode "session": what is known of one whose answer was lost, as long as the server
// remembers its number, and afterwards. A real replica set.
#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

#include "daemon/store/mongo/driver/mongo_numbered_writes.h"
#include "tests/adapters/mongo/mongo_target.h"
#include "tests/adapters/store_contract.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using testing::MongoTarget;  // not that of the driver
using Kind = LeaseOutcome::Kind;

constexpr MongoPlace kSession = {kMongoReplicaSet, LeaseModeOption::session, LeaseTrace::session,
                                 "session"};

LeaseRequest next_request() {
  return lease_request("orders", 10, LeaseTrace::session);
}

// The answers of the lease are lost; what is announced is not.
std::string lost_answers(const MongoTarget& target) {
  return fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}",
                          "writeConcernError": {{"code": 64, "errmsg": "not replicated"}}}})",
                     target.name);
}
std::string lost_requests(const MongoTarget& target) {
  return fmt::format(
      R"({{"failCommands": ["findAndModify"], "appName": "{}", "closeConnection": true}})",
      target.name);
}

// What the server keeps of its sessions, in its database "config": removes it, or changes what is
// like `these`, until nothing is.
void change_kept(MongoTarget& target, const char* collection, const Document& these,
                 const Document* change = nullptr) {
  mongoc_client_t* const client = mongoc_client_new(target.server.uri().c_str());
  mongoc_collection_t* const kept = mongoc_client_get_collection(client, "config", collection);
  bson_error_t error = {};
  // The server takes it outside of a session only, and that is how the driver sends what is not to
  // be confirmed.
  const WriteConcernHandle unconfirmed(mongoc_write_concern_new());
  mongoc_write_concern_set_w(unconfirmed.get(), MONGOC_WRITE_CONCERN_W_UNACKNOWLEDGED);
  Document options;
  REQUIRE(mongoc_write_concern_append(unconfirmed.get(), options.get()));
  std::int64_t left = 1;
  for (int tries = 0; tries < 10'000 && left != 0; ++tries) {
    REQUIRE((change == nullptr
                 ? mongoc_collection_delete_many(kept, these.get(), options.get(), nullptr, &error)
                 : mongoc_collection_update_many(kept, these.get(), change->get(), options.get(),
                                                 nullptr, &error)));
    left = mongoc_collection_count_documents(kept, these.get(), nullptr, nullptr, nullptr, &error);
  }
  mongoc_collection_destroy(kept);
  mongoc_client_destroy(client);
  INFO(error.message);
  REQUIRE(left == 0);
}

// As a server does for sessions that were not used for half an hour, and a restored backup.
void forget_sessions(MongoTarget& target) {
  change_kept(target, "transactions", Document());
}

// The answer of a findAndModify is kept apart from the session: a member that applied it during its
// initial sync marks it as not to be trusted.
void forget_answers(MongoTarget& target, bool removed) {
  if (removed) return change_kept(target, "image_collection", Document());
  const Document trusted = std::move(Document().add("invalidated", Document().add("$ne", true)));
  const Document change = std::move(Document().add("$set", Document().add("invalidated", true)));
  change_kept(target, "image_collection", trusted, &change);
}

TEST_CASE("MongoSessionLease: a lease whose answers were lost is found, by a later daemon, too",
          "[mongo][session]") {
  MongoTarget target(kSession, "session");
  require_granted(target.store->lease(next_request()), 1, 11);
  const bool again = GENERATE(false, true);
  const LeaseRequest request = next_request();
  {
    const FailPoint point(target.server, "failCommand", R"({"times": 2})", lost_answers(target));
    REQUIRE(target.store->lease(request).kind == Kind::unknown);
  }
  if (again) target.reopen();
  const Resolution found = target.store->resolve(request);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE(found.begin == 11);
  REQUIRE(found.end == 21);
  // Asked for again, it is the same.
  REQUIRE(target.store->resolve(request).begin == 11);
  require_granted(target.store->lease(request), 11, 21);
  require_granted(target.store->lease(next_request()), 21, 31);
}

TEST_CASE("MongoSessionLease: what the server refuses to look at is not forgotten",
          "[mongo][session]") {
  MongoTarget target(kSession, "session");
  auto clients = MongoClients::open(testing::mongo_driver(),
                                    std::move(*read_mongo_uri(target.server.options())));
  REQUIRE(clients.ok());
  // Its error is one of the single update; the command itself goes well.
  target.server.command(R"({"create": "shown", "viewOn": "counters"})");
  REQUIRE(MongoNumberedWrites(**clients, next_request()).remembers("shown", 1).status().code() ==
          ErrorCode::STORE_REFUSED);
}

TEST_CASE("MongoSessionLease: a lease that never arrived is given up, and refused when it comes",
          "[mongo][session]") {
  MongoTarget target(kSession, "session");
  require_granted(target.store->lease(next_request()), 1, 11);
  const LeaseRequest request = next_request();
  {
    const FailPoint point(target.server, "failCommand", R"({"times": 2})", lost_requests(target));
    REQUIRE(target.store->lease(request).kind == Kind::unknown);
  }
  REQUIRE(target.server.number("counters", "orders", "seq") == 10);
  REQUIRE(target.store->resolve(request).kind == Resolution::Kind::absent);
  REQUIRE(target.store->resolve(request).kind == Resolution::Kind::absent);
  // The write itself, as it may have been on its way all the time.
  auto clients = MongoClients::open(testing::mongo_driver(),
                                    std::move(*read_mongo_uri(target.server.options())));
  REQUIRE(clients.ok());
  MongoNumberedWrites late(**clients, request);
  MongoWrite write;
  write.collection = "counters";
  write.filter.add("_id", "orders");
  write.update.add("$inc", Document().add("seq", std::int64_t{10}));
  write.returned_field = "seq";
  const MongoWriteAnswer answer = late.find_and_modify(write);
  REQUIRE(answer.kind == MongoWriteAnswer::Kind::done);
  REQUIRE(answer.document);
  REQUIRE_FALSE(bson_has_field(answer.document->get(), "seq"));
  REQUIRE(target.server.number("counters", "orders", "seq") == 10);
  require_granted(target.store->lease(next_request()), 11, 21);
}

TEST_CASE("MongoSessionLease: what the server has forgotten is untraceable, and granted to nobody",
          "[mongo][session]") {
  MongoTarget target(kSession, "session");
  require_granted(target.store->lease(next_request()), 1, 11);
  const bool applied = GENERATE(true, false);
  const LeaseRequest request = next_request();
  {
    const FailPoint point(target.server, "failCommand", R"({"times": 2})",
                          applied ? lost_answers(target) : lost_requests(target));
    REQUIRE(target.store->lease(request).kind == Kind::unknown);
  }
  const std::int64_t counter = applied ? 20 : 10;
  REQUIRE(target.server.number("counters", "orders", "seq") == counter);
  forget_sessions(target);
  REQUIRE(target.store->resolve(request).kind == Resolution::Kind::untraceable);
  // As a daemon asks that was killed before it heard of it.
  REQUIRE(target.store->resolve(request).kind == Resolution::Kind::untraceable);
  // The token is void: nothing is applied for it any more.
  testing::require_refused(target.store->lease(request), ErrorCode::STORE_REFUSED);
  REQUIRE(target.server.number("counters", "orders", "seq") == counter);
  require_granted(target.store->lease(next_request()), counter + 1, counter + 11);
}

// The server knows that the lease was announced and applied, and not where it lies.
TEST_CASE("MongoSessionLease: a lease whose answer the server has lost is untraceable",
          "[mongo][session]") {
  MongoTarget target(kSession, "session");
  require_granted(target.store->lease(next_request()), 1, 11);
  const bool removed = GENERATE(true, false);
  const LeaseRequest request = next_request();
  {
    const FailPoint point(target.server, "failCommand", R"({"times": 2})", lost_answers(target));
    REQUIRE(target.store->lease(request).kind == Kind::unknown);
  }
  forget_answers(target, removed);
  for (int asked = 0; asked < 2; ++asked) {
    const Resolution found = target.store->resolve(request);
    INFO(found.error.to_string());
    REQUIRE(found.kind == Resolution::Kind::untraceable);
  }
  testing::require_refused(target.store->lease(request), ErrorCode::STORE_REFUSED);
  REQUIRE(target.server.number("counters", "orders", "seq") == 20);
  require_granted(target.store->lease(next_request()), 21, 31);
}

TEST_CASE("MongoSessionLease: a daemon that ended between announcement and lease moved nothing",
          "[mongo][session]") {
  MongoTarget target(kSession, "session");
  const LeaseRequest request = next_request();
  require_granted(target.store->lease(next_request()), 1, 11);
  {
    // The announcement is applied, and its answers are lost: the lease does not leave.
    const FailPoint point(target.server, "failCommand", R"({"times": 2})",
                          fmt::format(R"({{"failCommands": ["update"], "appName": "{}",
                         "writeConcernError": {{"code": 64, "errmsg": "not replicated"}}}})",
                                      target.name));
    testing::require_refused(target.store->lease(request), ErrorCode::UNAVAILABLE);
  }
  REQUIRE(target.server.find("seqd_leases", "{}").find("\"sent\"") != std::string::npos);
  if (GENERATE(true, false)) {
    target.reopen();
    REQUIRE(target.store->resolve(request).kind == Resolution::Kind::absent);
  }
  REQUIRE(target.server.number("counters", "orders", "seq") == 10);
  require_granted(target.store->lease(next_request()), 11, 21);
}

TEST_CASE("MongoSessionLease: the last range of a sequence, which is shorter, is found whole",
          "[mongo][session]") {
  MongoTarget target(kSession, "session");
  LeaseRequest request = next_request();
  request.max_value = 25;
  require_granted(target.store->lease(request), 1, 11);
  request.token = testing::random_token(LeaseTrace::session);
  request.count = 20;
  require_granted(target.store->lease(request), 11, 26);
  target.reopen();
  const Resolution found = target.store->resolve(request);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE(found.begin == 11);
  REQUIRE(found.end == 26);
}

TEST_CASE("MongoSessionLease: many hosts at one counter meet without a conflict",
          "[mongo][session]") {
  MongoTarget target(kSession, "session");
  constexpr std::size_t kHosts = 8;
  constexpr std::size_t kLeases = 10;
  std::vector<std::thread> hosts;
  std::vector<LeaseOutcome> outcomes(kHosts * kLeases);
  for (std::size_t host = 0; host < kHosts; ++host) {
    hosts.emplace_back([&, host] {
      for (std::size_t at = 0; at < kLeases; ++at) {
        LeaseRequest request = next_request();
        request.instance.fill(static_cast<std::uint8_t>(host));
        outcomes[host * kLeases + at] = target.store->lease(request);
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  std::vector<LeasedSpan> spans;
  for (const LeaseOutcome& outcome : outcomes) {
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::granted);
    spans.push_back({outcome.begin, outcome.end});
  }
  testing::require_exactly(spans, 1, kHosts * kLeases * 10 + 1);
}

}  // namespace
}  // namespace seqd
