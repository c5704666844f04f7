// What is tried before a replica set is leased from by numbered writes. Real servers and their fail
// points.
#include "daemon/store/mongo/driver/mongo_numbered_writes.h"

#include <fmt/format.h>

#include <string>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

// A store on a replica set that has decided nothing yet, for an instance that is known there.
struct Undecided {
  Undecided() : name("mode-" + server.database()), options(server.options()) {
    options.uri = with_uri_option(options.uri, "appName=" + name);
    const ClaimRequest claim = {
        .instance = request.instance, .epoch = 0, .nonce = testing::random_token()};
    REQUIRE(open_mongo_store(options)->claim(claim).ok());
  }
  LeaseOutcome lease() {
    auto store = open_mongo_store(options);
    const LeaseOutcome outcome = store->lease(request);
    word = store->lease_mode().word;
    return outcome;
  }
  // The writes of the trial that follow its first.
  std::string failure(const std::string& what) const {
    return fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}", {}}})", name, what);
  }

  MongoServer server = MongoServer(kMongoReplicaSet);
  const std::string name;
  MongoStoreOptions options;
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::session);
  std::string word;
};

TEST_CASE("MongoNumberedWrites: trials that are cut off leave one document, until one is not",
          "[mongo]") {
  Undecided undecided;
  {
    const FailPoint point(undecided.server, "failCommand", R"("alwaysOn")",
                          undecided.failure(R"("closeConnection": true)"));
    for (int tried = 0; tried < 3; ++tried)
      CHECK(error_name(undecided.lease().error.code()) == error_name(ErrorCode::UNAVAILABLE));
  }
  CHECK(undecided.server.count("seqd_leases") == 1);
  CHECK(undecided.lease().kind == Kind::granted);
  CHECK(undecided.server.count("seqd_leases") == 1);  // the record of the lease
  CHECK(undecided.server.find("seqd_leases", R"({"state": "sent"})") != "");
}

TEST_CASE("MongoNumberedWrites: a server that has lost its answer meanwhile makes no store plain",
          "[mongo]") {
  Undecided undecided;
  const int code = GENERATE(217, 5637601);  // its history, the document
  CAPTURE(code);
  {
    const FailPoint point(undecided.server, "failCommand", R"({"skip": 1})",
                          undecided.failure(fmt::format(R"("errorCode": {})", code)));
    const LeaseOutcome outcome = undecided.lease();
    INFO(outcome.error.to_string());
    CHECK(outcome.kind == Kind::refused);
    CHECK(error_name(outcome.error.code()) == error_name(ErrorCode::UNAVAILABLE));
    CHECK(undecided.word.empty());
  }
  CHECK(undecided.lease().kind == Kind::granted);
  CHECK(undecided.word == "session");
}

}  // namespace
}  // namespace seqd
