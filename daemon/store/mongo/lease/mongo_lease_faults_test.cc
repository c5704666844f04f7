// Leases that leave a record, on servers that fail in the middle of them: whatever happens, every
// ID the counter moved by is in a range that was granted or found. Fail points of real servers.
#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/adapters/in_time.h"
#include "tests/adapters/mongo/mongo_target.h"
#include "tests/adapters/store_fixtures.h"
#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using testing::MongoTarget;  // not that of the driver
using Kind = LeaseOutcome::Kind;

// Every range that it gave.
struct Traced : MongoTarget {
  explicit Traced(const MongoPlace& place) : MongoTarget(place, "traced") {
    REQUIRE(lease() == Kind::granted);
  }
  Traced(const MongoPlace& place, int timeout_ms) : Traced(place) { reopen(timeout_ms); }

  // One lease of 10 IDs.
  Kind lease() {
    request = lease_request("orders", 10);
    request.token = new_token(random);
    request.high_water = high_water;
    const LeaseOutcome outcome = store->lease(request);
    error = outcome.error;
    contended = outcome.contended;
    if (outcome.kind == Kind::granted) keep(outcome.begin, outcome.end);
    return outcome.kind;
  }

  // The same until one is granted: one that is refused or unknown came too slowly, or met a
  // transaction of a request that arrived late.
  void lease_at_last() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    for (Kind kind = lease(); kind != Kind::granted; kind = lease()) {
      INFO(error.to_string());
      REQUIRE_IN_TIME(std::chrono::steady_clock::now() < end);
      if (kind == Kind::unknown) REQUIRE(resolve() != Resolution::Kind::untraceable);
    }
  }

  // Asks until it is known what became of the last lease.
  Resolution::Kind resolve() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (true) {
      const Resolution resolution = store->resolve(request);
      if (resolution.kind == Resolution::Kind::granted) keep(resolution.begin, resolution.end);
      if (resolution.kind != Resolution::Kind::failed) return resolution.kind;
      INFO(resolution.error.to_string());
      REQUIRE_IN_TIME(std::chrono::steady_clock::now() < end);
    }
  }

  // A lease, and what became of it where that is unknown.
  void lease_and_resolve() {
    if (lease() == Kind::unknown) REQUIRE(resolve() != Resolution::Kind::untraceable);
  }

  void keep(std::int64_t begin, std::int64_t end) {
    spans.emplace_back(begin, end);
    high_water = std::max(high_water, end);
  }

  // Nothing twice, and nothing missing.
  void require_complete() {
    std::sort(spans.begin(), spans.end());
    std::int64_t at = 1;
    for (const auto& [begin, end] : spans) {
      REQUIRE(begin == at);
      at = end;
    }
    REQUIRE(counter_now() == at);
  }

  // Asked in the way of a diagnosis: a primary that was stopped answers others with what is past
  // until it hears that it was replaced.
  std::int64_t counter_now() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (true) {
      const auto reading = store->read({.binding = request.binding, .instance = request.instance});
      if (reading.ok()) return reading->next_id;
      INFO(reading.status().to_string());
      REQUIRE_IN_TIME(std::chrono::steady_clock::now() < end);
    }
  }

  SeededRandom random{1};
  LeaseRequest request;
  Status error;
  bool contended = false;
  std::int64_t high_water = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
};

struct Fault {
  const char* point;  // "" for failCommand, with what it does
  const char* data;
};

const Fault kFaults[] = {
    {"onPrimaryTransactionalWrite", R"({"closeConnection": true})"},
    {"", R"("closeConnection": true)"},
    {"", R"("writeConcernError": {"code": 64, "errmsg": "waiting timed out"})"},
    {"", R"("errorCode": 11600)"},
    {"", R"("errorCode": 11600, "errorLabels": ["RetryableWriteError"])"},
    {"", R"("errorCode": 91, "errorLabels": ["RetryableWriteError"])"},
    {"", R"("errorCode": 50)"},
    {"", R"("errorCode": 10107)"},
    {"", R"("errorCode": 251, "errorLabels": ["TransientTransactionError"])"},
    {"", R"("errorCode": 112, "errorLabels": ["TransientTransactionError"])"},
};

TEST_CASE("MongoLeaseFaults: no fault of a command loses an ID of a traced lease",
          "[mongo][lease-faults]") {
  const std::size_t where = GENERATE(range(std::size_t{0}, std::size(kMongoPlaces)));
  const MongoPlace& place = kMongoPlaces[where];
  Traced traced(place);
  for (const Fault& fault : kFaults) {
    const bool command = *fault.point == '\0';
    // A server alone does not know this one: it has no transactional writes.
    if (!command && place.variable == kMongoAlone) continue;
    for (const int times : {1, 3}) {
      INFO(place.name << ", " << fault.data << ", " << times << " times");
      {
        const FailPoint point(traced.server, command ? "failCommand" : fault.point,
                              fmt::format(R"({{"times": {}}})", times),
                              command ? traced.failure(fault.data) : fault.data);
        traced.lease_and_resolve();
      }
      INFO(traced.error.to_string());
      REQUIRE(traced.lease() == Kind::granted);
      traced.require_complete();
    }
  }
}

TEST_CASE("MongoLeaseFaults: a lost lease is found by a daemon that is started again",
          "[mongo][lease-faults]") {
  const std::size_t where = GENERATE(range(std::size_t{0}, std::size(kMongoPlaces)));
  const MongoPlace& place = kMongoPlaces[where];
  INFO(place.name);
  Traced traced(place);
  for (int times = 1; times <= 6; times += 2) {
    {
      const FailPoint point(
          traced.server, "failCommand", fmt::format(R"({{"times": {}}})", times),
          traced.failure(R"("writeConcernError": {"code": 64, "errmsg": "not replicated"})"));
      if (traced.lease() == Kind::granted) continue;
    }
    traced.reopen();
    REQUIRE(traced.resolve() != Resolution::Kind::untraceable);
  }
  REQUIRE(traced.lease() == Kind::granted);
  traced.require_complete();
}

TEST_CASE("MongoLeaseFaults: a request that arrives after its token was given up is refused",
          "[mongo][lease-faults]") {
  // Without the tombstone the counter would move when the server goes on (model lease, NO_VOID).
  const std::size_t where = GENERATE(std::size_t{1}, std::size_t{2}, std::size_t{3});
  INFO(kMongoPlaces[where].name);
  // As often as the driver sends it, so that giving up is not blocked.
  const int times = kMongoPlaces[where].variable == kMongoAlone ? 1 : 2;
  Traced traced(kMongoPlaces[where], 300);
  // What a store finds out before its first lease is behind it.
  traced.lease_at_last();
  std::int64_t counter = 0;
  Resolution::Kind found = Resolution::Kind::granted;
  // Where the machine is so slow that the lease is there first, once more with more time.
  for (int block_ms = 2000; found == Resolution::Kind::granted; block_ms *= 2) {
    REQUIRE(block_ms < 60'000);
    counter = traced.server.number("counters", "orders", "seq");
    const FailPoint point(
        traced.server, "failCommand", fmt::format(R"({{"times": {}}})", times),
        traced.failure(fmt::format(R"("blockConnection": true, "blockTimeMS": {})", block_ms)));
    if (traced.lease() == Kind::unknown) found = traced.resolve();
  }
  REQUIRE(found == Resolution::Kind::absent);
  REQUIRE(traced.server.number("counters", "orders", "seq") == counter);
  traced.wait_until_idle();
  REQUIRE(traced.server.number("counters", "orders", "seq") == counter);
  traced.reopen();
  REQUIRE(traced.lease() == Kind::granted);
  traced.require_complete();
}

// The core asks again at once, and no journal says that the store is away.
TEST_CASE("MongoLeaseFaults: what others do to the collection is a conflict, not a failure",
          "[mongo][lease-faults]") {
  Traced traced(kMongoPlaces[0]);
  for (const auto& [code, conflict] :
       {std::pair{112, true}, {246, true}, {24, false}, {251, false}, {11602, false}}) {
    INFO(code);
    {
      const FailPoint point(
          traced.server, "failCommand", R"("alwaysOn")",
          traced.failure(fmt::format(
              R"("errorCode": {}, "errorLabels": ["TransientTransactionError"])", code)));
      REQUIRE(traced.lease() == Kind::refused);
    }
    CHECK(traced.error.code() == ErrorCode::UNAVAILABLE);
    CHECK(traced.contended == conflict);
    CHECK(traced.lease() == Kind::granted);
  }
  traced.require_complete();
}

TEST_CASE("MongoLeaseFaults: a commit that arrives late is found, not given up",
          "[mongo][lease-faults]") {
  Traced traced(kMongoPlaces[0], 300);
  Kind leased = Kind::refused;
  // Where the machine is so slow that the commit was not reached, or was answered, once more.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(300);
  while (leased != Kind::unknown) {
    REQUIRE_IN_TIME(std::chrono::steady_clock::now() < end);
    const FailPoint point(traced.server, "failCommand", R"({"times": 6})",
                          fmt::format(R"({{"failCommands": ["commitTransaction"], "appName": "{}",
                         "blockConnection": true, "blockTimeMS": 1500}})",
                                      traced.name));
    leased = traced.lease();
    INFO(traced.error.to_string());
  }
  const Resolution::Kind resolved = traced.resolve();
  REQUIRE((resolved == Resolution::Kind::granted || resolved == Resolution::Kind::absent));
  traced.reopen();
  REQUIRE(traced.lease() == Kind::granted);
  traced.require_complete();
}

TEST_CASE("MongoLeaseFaults: a statement that blocks costs time and no ID",
          "[mongo][lease-faults]") {
  Traced traced(kMongoPlaces[0], 300);
  const int times = GENERATE(1, 2, 8);
  {
    const FailPoint point(traced.server, "failCommand", fmt::format(R"({{"times": {}}})", times),
                          traced.failure(R"("blockConnection": true, "blockTimeMS": 1000)"));
    traced.lease_and_resolve();
  }
  // Transactions of requests that arrive late may hold the counter for a moment.
  traced.lease_at_last();
  traced.require_complete();
}

// Lets a stopped process go on when the test ends, however it ends.
struct Stopped {
  ~Stopped() { go_on(); }
  void go_on() const {
    if (pid != 0) kill(pid, SIGCONT);
  }
  pid_t pid = 0;
};

// Whether it was done. On any thread, so it asserts nothing.
bool step_down(const std::string& uri) {
  mongoc_client_t* const client = mongoc_client_new(
      testing::with_uri_option(uri, "serverSelectionTimeoutMS=60000&serverSelectionTryOnce=false")
          .c_str());
  const Document command =
      std::move(Document().add("replSetStepDown", std::int64_t{2}).add("force", true));
  bool done = false;
  // An election that is under way is over some time.
  for (int tries = 0; tries < 1'000 && !done; ++tries) {
    done = mongoc_client_command_simple(client, "admin", command.get(), nullptr, nullptr, nullptr);
  }
  mongoc_client_destroy(client);
  return done;
}

TEST_CASE("MongoLeaseFaults: the loss of the primary loses no ID", "[mongo][lease-faults]") {
  const std::size_t where = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{3});
  const std::string how = GENERATE("step down", "kill", "stop");
  INFO(kMongoPlaces[where].name << ", " << how);
  Traced traced(kMongoPlaces[where]);
  for (int i = 0; i < 10; ++i) REQUIRE(traced.lease() == Kind::granted);
  traced.reopen(2000);
  const Document status = traced.server.admin(R"({"serverStatus": 1})");
  bson_iter_t found;
  REQUIRE(find_field(status.get(), "pid", &found));
  const auto pid = static_cast<pid_t>(bson_iter_as_int64(&found));
  Stopped stopped;
  bool troubled = true;
  std::jthread trouble([&] {
    if (how == "step down") {
      troubled = step_down(traced.server.uri());
      return;
    }
    if (how == "stop") stopped.pid = pid;
    kill(pid, how == "stop" ? SIGSTOP : SIGKILL);  // with_mongo.py starts a killed one again
  });
  int granted = 0;
  for (int attempt = 0; attempt < 200 && granted < 100; ++attempt) {
    const Kind kind = traced.lease();
    if (kind == Kind::granted) ++granted;
    if (kind == Kind::unknown) REQUIRE(traced.resolve() != Resolution::Kind::untraceable);
  }
  trouble.join();
  REQUIRE(troubled);
  REQUIRE(granted == 100);
  stopped.go_on();
  traced.require_complete();
}

TEST_CASE("MongoLeaseFaults: losing the insert of our own key to another creator is tried again",
          "[mongo][lease-faults]") {
  const std::size_t where = GENERATE(range(std::size_t{0}, std::size(kMongoPlaces)));
  INFO(kMongoPlaces[where].name);
  Traced traced(kMongoPlaces[where]);
  LeaseRequest request = lease_request("invoices", 10);
  request.token = traced.new_token(traced.random);
  LeaseOutcome outcome;
  {
    // The first findAndModify finds no counter; the second, the upsert, waits and then answers that
    // somebody else has inserted the very key. Meanwhile somebody has, and the fail point is off.
    FailPoint point(traced.server, "failCommand", R"({"skip": 1})",
                    fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}",
                      "errorCode": 11000, "blockConnection": true, "blockTimeMS": 1000,
                      "errorExtraInfo": {{"keyPattern": {{"_id": 1}},
                                          "keyValue": {{"_id": "invoices"}}}}}})",
                                traced.name));
    std::jthread creator([&] { outcome = traced.store->lease(request); });
    traced.server.admin(fmt::format(
        R"({{"waitForFailPoint": "failCommand", "timesEntered": {}, "maxTimeMS": 30000}})",
        point.entered_before() + 1));
    traced.server.put("counters", "invoices",
                      R"({"seq": {"$numberInt": "25"}, "seqd": {"meaning": "last"}})");
    point.lift();
    creator.join();
  }
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);
  REQUIRE(outcome.begin == 26);
  REQUIRE(traced.server.number("counters", "invoices", "seq") == 35);
}

}  // namespace
}  // namespace seqd
