// Credentials that are refused, missing or exchanged between a DynamoDB store and the real DynamoDB
// Local: what was not granted is asked for again, and a lease that is signed again is still one.
#include <string>

#include "tests/adapters/dynamo/dynamo_faults.h"

namespace seqd {
namespace {

using namespace testing;
using Fault = HttpFault::Kind;
using Kind = LeaseOutcome::Kind;

TEST_CASE("DynamoFaults: credentials that are refused are read again, but not in a loop",
          "[dynamo]") {
  DynamoFaults faults;
  int reads = 0;
  DynamoHandle store(faults.options, [&reads]() -> Result<AwsCredentials> {
    return AwsCredentials{"seqdtest", "secret", "token" + std::to_string(++reads)};
  });
  auto request = slot_request();
  require_granted(store.lease(request), 1, 11);
  REQUIRE(reads == 1);
  faults.proxy.plan(kUpdate, {says(400, dynamo_error("ExpiredTokenException", "expired")),
                              says(400, dynamo_error("UnrecognizedClientException", "invalid"))});
  request.token = random_token(LeaseTrace::slot);
  require_refused(store.lease(request), ErrorCode::UNAVAILABLE);
  REQUIRE(reads == 2);
  request.token = random_token(LeaseTrace::slot);
  require_refused(store.lease(request), ErrorCode::STORE_REFUSED);
  request.token = random_token(LeaseTrace::slot);
  require_granted(store.lease(request), 11, 21);
  REQUIRE(reads == 2);
}

TEST_CASE("DynamoFaults: without credentials nothing is sent", "[dynamo]") {
  DynamoFaults faults;
  bool there = false;
  DynamoHandle store(faults.options, [&there]() -> Result<AwsCredentials> {
    if (!there) return Status(ErrorCode::CONFIG, "the file is being replaced just now");
    return DynamoServer::credentials();
  });
  const LeaseOutcome outcome = store.lease(slot_request());
  require_refused(outcome, ErrorCode::UNAVAILABLE);
  REQUIRE(outcome.error.text().find("being replaced just now") != std::string::npos);
  REQUIRE(faults.proxy.seen(kUpdate) + faults.proxy.seen("GetItem") == 0);
}

// A lease is known by its token, not by its signature: the same request under other credentials.
TEST_CASE("DynamoFaults: a lease that is signed again is still one lease", "[dynamo]") {
  DynamoFaults faults;
  int reads = 0;
  DynamoHandle store(faults.options, [&reads]() -> Result<AwsCredentials> {
    return AwsCredentials{"seqdtest", "secret" + std::to_string(++reads), "token"};
  });
  auto request = slot_request();
  claim(store, request);
  require_granted(store.lease(request), 1, 11);
  request.token = random_token(LeaseTrace::slot);
  request.high_water = 11;
  SECTION("applied, and then refused for its look-up") {
    faults.proxy.plan(kUpdate, {fault(Fault::lose_reply)});
    REQUIRE(store.lease(request).kind == Kind::unknown);
    faults.proxy.plan("GetItem", {says(400, dynamo_error("ExpiredTokenException", "expired"))});
    REQUIRE(store.resolve(request).kind == Resolution::Kind::failed);
  }
  SECTION("applied, its reply lost, and sent again under other credentials") {
    faults.proxy.plan(kUpdate, {says(400, dynamo_error("ExpiredTokenException", "expired")),
                                fault(Fault::lose_reply)});
    require_refused(store.lease(request), ErrorCode::UNAVAILABLE);
    REQUIRE(store.lease(request).kind == Kind::unknown);
    static_cast<void>(store.lease(request));
  }
  REQUIRE(reads == 2);
  const Resolution found = store.resolve(request);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE((found.begin == 11 && found.end == 21));
  REQUIRE(faults.server.number("orders") == 20);
}

}  // namespace
}  // namespace seqd
