// Leases of an instance whose heartbeat cannot be compared with the database's at that moment.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "tests/adapters/mongo/faulty_mongo.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

constexpr char kOnce[] = R"({"times": 1})";
constexpr char kAlways[] = R"("alwaysOn")";

// The entry of the instance, with heartbeat 1.
LeaseRequest request_with_heartbeat(Faulty& faulty, LeaseTrace trace) {
  LeaseRequest request = lease_request("orders", 10, trace);
  const auto claimed = faulty.store->claim({request.instance, 0, testing::random_token()});
  REQUIRE(claimed.ok());
  REQUIRE(*claimed == ClaimOutcome::won);
  const auto beat = faulty.store->beat({request.instance, 0, true});
  REQUIRE(beat.ok());
  REQUIRE(beat->beat == 1);
  request.heartbeat = 1;
  return request;
}

std::string failing_comparison(const Faulty& faulty, int code) {
  return fmt::format(R"({{"failCommands": ["aggregate"], "appName": "{}", "errorCode": {}}})",
                     faulty.name, code);
}

TEST_CASE("MongoFaults: a plain lease is not sent where the heartbeat cannot be compared",
          "[mongo]") {
  const int code = GENERATE(91, 13);
  Faulty faulty(kMongoReplicaSet);
  LeaseRequest request = request_with_heartbeat(faulty, LeaseTrace::plain);
  {
    const FailPoint point(faulty.server, "failCommand", kAlways, failing_comparison(faulty, code));
    const LeaseOutcome outcome = faulty.store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::refused);
    REQUIRE(error_name(outcome.error.code()) ==
            error_name(code == 91 ? ErrorCode::UNAVAILABLE : ErrorCode::STORE_REFUSED));
    REQUIRE(faulty.value() == 10);
  }
  REQUIRE(faulty.store->lease(request).begin == 11);
  // Nor to a database that is known to be older.
  request.token = testing::random_token(LeaseTrace::plain);
  request.heartbeat = 2;
  const LeaseOutcome older = faulty.store->lease(request);
  REQUIRE(older.kind == Kind::refused);
  REQUIRE(older.restored);
  REQUIRE(faulty.value() == 20);
}

TEST_CASE("MongoFaults: a comparison that failed behind a lease is made by its look-up",
          "[mongo]") {
  const LeaseTrace trace = GENERATE(LeaseTrace::transaction, LeaseTrace::session);
  Faulty faulty(kMongoReplicaSet);
  const LeaseRequest request = request_with_heartbeat(faulty, trace);
  {
    const FailPoint point(faulty.server, "failCommand", kAlways, failing_comparison(faulty, 91));
    REQUIRE(faulty.store->lease(request).kind == Kind::unknown);
    REQUIRE(faulty.value() == 20);
    const Resolution found = faulty.store->resolve(request);
    REQUIRE(found.kind == Resolution::Kind::failed);
    REQUIRE_FALSE(found.restored);
  }
  const Resolution found = faulty.store->resolve(request);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE((found.begin == 11 && found.end == 21));
}

// A plain lease leaves no record, so what was granted is known here only.
TEST_CASE("MongoFaults: a plain lease whose comparison failed behind it is kept until one is made",
          "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  LeaseRequest request = request_with_heartbeat(faulty, LeaseTrace::plain);
  {
    const FailPoint point(faulty.server, "failCommand", R"({"skip": 1})",
                          failing_comparison(faulty, 91));
    REQUIRE(faulty.store->lease(request).kind == Kind::unknown);
    REQUIRE(faulty.value() == 20);
    const Resolution asked = faulty.store->resolve(request);
    REQUIRE(asked.kind == Resolution::Kind::failed);
    REQUIRE(asked.error.code() == ErrorCode::UNAVAILABLE);
  }
  LeaseRequest other = request;
  other.token = testing::random_token(LeaseTrace::plain);
  REQUIRE(faulty.store->resolve(other).kind == Resolution::Kind::untraceable);
  const std::string then = GENERATE("compared", "an older copy", "started again");
  INFO(then);
  if (then == "started again") faulty.reopen();
  if (then == "an older copy") {
    other = request;
    other.heartbeat = 2;
    REQUIRE(faulty.store->resolve(other).restored);
  }
  const Resolution found = faulty.store->resolve(request);
  if (then != "compared") {
    REQUIRE(found.kind == Resolution::Kind::untraceable);
    return;
  }
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE((found.begin == 11 && found.end == 21));
}

// As servers up to 4.4 answer whose configuration says enableMajorityReadConcern: false.
TEST_CASE("MongoFaults: a server without majority reads compares, and counts what is parked",
          "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  const LeaseRequest request = request_with_heartbeat(faulty, LeaseTrace::session);
  const auto without = [&] {
    return std::make_unique<FailPoint>(faulty.server, "failCommand", kOnce,
                                       failing_comparison(faulty, 148));
  };
  {
    const auto point = without();
    const auto looked = faulty.store->beat({request.instance, 1, false});
    INFO(looked.status().to_string());
    REQUIRE(looked.ok());
    REQUIRE((looked->beat == 1 && !looked->older));
  }
  {
    const auto point = without();
    const auto older = faulty.store->beat({request.instance, 2, false});
    REQUIRE(older.ok());
    REQUIRE(older->older);
  }
  {
    const auto point = without();
    const LeaseOutcome outcome = faulty.store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(outcome.kind == Kind::granted);
  }
  const auto point = without();
  const auto reading = faulty.store->read({.binding = request.binding, .instance = {}});
  INFO(reading.status().to_string());
  REQUIRE(reading.ok());
}

}  // namespace
}  // namespace seqd
