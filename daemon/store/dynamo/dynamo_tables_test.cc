// Tables that another region writes, too: what DynamoDB says of them, before the real DynamoDB
// Local, which has none.
#include "daemon/store/dynamo/dynamo_tables.h"

#include "tests/adapters/dynamo/dynamo_faults.h"

namespace seqd {
namespace {

using namespace testing;

constexpr char kDescribe[] = "DescribeTable";

std::string described(const std::string& more) {
  return R"({"Table": {"TableName": "counters", "TableStatus": "ACTIVE")" + more + "}}";
}

const std::string kGlobal = described(
    R"(, "GlobalTableVersion": "2019.11.21", "Replicas": [{"RegionName": "eu-west-1",
        "ReplicaStatus": "ACTIVE"}, {"RegionName": "us-east-2"}])");

TEST_CASE("DynamoTables: nothing is leased from a global table, until it is none", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  const int before = faults.proxy.seen(kDescribe);
  faults.proxy.plan(kDescribe, {says(200, kGlobal)});
  const LeaseOutcome refused = store->lease(request);
  require_refused(refused, ErrorCode::STORE_REFUSED);
  CHECK(refused.error.text().find("replicas in eu-west-1, us-east-2") != std::string::npos);
  CHECK(refused.error.text().find("unsafe_global_table") != std::string::npos);
  CHECK(faults.server.number("orders") == -1);
  require_granted(store->lease(request), 1, 11);
  request.token = random_token(LeaseTrace::slot);
  request.high_water = 11;
  require_granted(store->lease(request), 11, 21);
  CHECK(faults.proxy.seen(kDescribe) == before + 2);
}

TEST_CASE("DynamoTables: an instances table that is global is refused before the claim",
          "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  faults.proxy.plan(kDescribe, {says(200, kGlobal)});
  CHECK(store->identify(random_token()).status().code() == ErrorCode::STORE_REFUSED);
  CHECK(store->identify(random_token()).ok());
}

TEST_CASE("DynamoTables: what says nothing against a table is no reason to refuse it", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  const auto request = slot_request();
  claim(*store, request);
  const HttpFault answer = GENERATE_COPY(
      says(400, dynamo_error("AccessDeniedException", "not authorized to DescribeTable")),
      says(400, dynamo_error("UnknownOperationException", "")),
      says(200, described(R"(, "Replicas": [])")), says(200, described(R"(, "Replicas": {})")),
      says(200, R"({"Table": []})"), says(200, R"({"Table": null})"),
      says(200, described(R"(, "MultiRegionConsistency": "STRONG",
                             "Replicas": [{"RegionName": "eu-west-1"}])")));
  INFO(answer.body);
  faults.proxy.plan(kDescribe, {answer});
  require_granted(store->lease(request), 1, 11);
}

TEST_CASE("DynamoTables: a right that is missing is not asked for again", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  faults.proxy.plan(kDescribe, {says(400, dynamo_error("AccessDeniedException", "no"))});
  const int before = faults.proxy.seen(kDescribe);
  require_granted(store->lease(request), 1, 11);
  request.token = random_token(LeaseTrace::slot);
  request.high_water = 11;
  require_granted(store->lease(request), 11, 21);
  CHECK(faults.proxy.seen(kDescribe) == before + 1);
}

TEST_CASE("DynamoTables: while it cannot be asked for a table, nothing is leased from it",
          "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  const auto request = slot_request();
  claim(*store, request);
  const HttpFault answer =
      GENERATE(says(503, dynamo_error("ServiceUnavailable", "")), says(500, ""),
               says(400, dynamo_error("ThrottlingException", "slow down")),
               says(400, dynamo_error("LimitExceededException", "")));
  INFO(answer.body);
  faults.proxy.plan(kDescribe, {answer});
  const LeaseOutcome refused = store->lease(request);
  require_refused(refused, ErrorCode::UNAVAILABLE);
  CHECK(faults.server.number("orders") == -1);
  require_granted(store->lease(request), 1, 11);
}

TEST_CASE("DynamoTables: a table that becomes a global one is noticed", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  require_granted(store->lease(request), 1, 11);
  const auto next = [&request](std::int64_t high_water) {
    request.token = random_token(LeaseTrace::slot);
    request.high_water = high_water;
  };
  // No region is added by a service that does not answer: what was good stays good.
  store->pass(60'001);
  faults.proxy.plan(kDescribe,
                    {says(503, ""), says(200, kGlobal), says(200, kGlobal), says(503, "")});
  next(11);
  require_granted(store->lease(request), 11, 21);
  // No lease waits for the answer; one behind it is refused.
  store->pass(60'001);
  LeaseOutcome last;
  std::int64_t high_water = 11;
  do {
    high_water += 10;
    next(high_water);
    last = store->lease(request);
  } while (last.kind == LeaseOutcome::Kind::granted && high_water < 10'000);
  require_refused(last, ErrorCode::STORE_REFUSED);
  // And what was none is none until the service says so.
  require_refused(store->lease(request), ErrorCode::UNAVAILABLE);
  require_granted(store->lease(request), high_water, high_water + 10);
  const int before = faults.proxy.seen(kDescribe);
  next(high_water + 10);
  require_granted(store->lease(request), high_water + 10, high_water + 20);
  CHECK(faults.proxy.seen(kDescribe) == before);
}

TEST_CASE("DynamoTables: no lease waits for a service that describes no table any more",
          "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  require_granted(store->lease(request), 1, 11);
  store->pass(60'001);
  const int before = faults.proxy.seen(kDescribe);
  faults.proxy.plan(kDescribe, {fault(HttpFault::Kind::hold_request)});
  // Until the question, which is not answered, has arrived.
  for (std::int64_t begin = 11; faults.proxy.seen(kDescribe) == before; begin += 10) {
    REQUIRE(begin < 10'000);
    request.token = random_token(LeaseTrace::slot);
    request.high_water = begin;
    require_granted(store->lease(request), begin, begin + 10);
  }
  CHECK(faults.proxy.seen(kDescribe) == before + 1);
}

TEST_CASE("DynamoTables: an item of a global table of 2017 is refused, unless that is allowed",
          "[dynamo]") {
  DynamoFaults faults;
  faults.options.unsafe_global_table = GENERATE(false, true);
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  request.binding.meaning = Meaning::last;
  faults.server.put("orders", R"({"seq": {"N": "41"}, "aws:rep:deleting": {"BOOL": false},
      "aws:rep:updateregion": {"S": "us-east-1"}, "aws:rep:updatetime": {"N": "1"}})");
  if (faults.options.unsafe_global_table) {
    faults.proxy.plan(kDescribe, {says(200, kGlobal)});
    return require_granted(store->lease(request), 42, 52);
  }
  const LeaseOutcome refused = store->lease(request);
  require_refused(refused, ErrorCode::STORE_REFUSED);
  CHECK(refused.error.text().find("2017.11.29") != std::string::npos);
  CHECK(faults.server.number("orders") == 41);
}

TEST_CASE("DynamoTables: nothing is leased blindly from what was read as a global table of 2017",
          "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  require_granted(store->lease(request), 1, 11);
  auto other = lease_request("tickets", 10, LeaseTrace::slot);
  other.instance = request.instance;
  require_granted(store->lease(other), 1, 11);
  faults.server.put("orders", R"({"seq": {"N": "41"}, "aws:rep:deleting": {"BOOL": false},
      "aws:rep:updateregion": {"S": "us-east-1"}, "aws:rep:updatetime": {"N": "1"}})");
  // A person looks at the one; the other is of the same table.
  const ReadRequest look = {.binding = request.binding, .instance = {}};
  REQUIRE(store->read(look).status().code() == ErrorCode::STORE_REFUSED);
  const int before = faults.proxy.seen(kUpdate);
  for (LeaseRequest* each : {&request, &other}) {
    each->token = random_token(LeaseTrace::slot);
    each->high_water = 11;
    const LeaseOutcome refused = store->lease(*each);
    require_refused(refused, ErrorCode::STORE_REFUSED);
    CHECK(refused.error.text().find("2017.11.29") != std::string::npos);
  }
  CHECK(faults.proxy.seen(kUpdate) == before);
}

}  // namespace
}  // namespace seqd
