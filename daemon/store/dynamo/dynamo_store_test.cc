// What is DynamoDB's own of its store: the items it leaves, and those that others wrote.
#include "daemon/store/dynamo/dynamo_store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;

LeaseRequest slot_request(std::int64_t count = 10) {
  return lease_request("orders", count, LeaseTrace::slot);
}

TEST_CASE("DynamoStore: a lease leaves number, meaning and its record in one item", "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  const auto request = slot_request();
  require_granted(store->lease(request), 1, 11);
  const std::string item = fixture.server.item("orders");
  const std::string slot = to_hex(request.instance) + ":orders";
  REQUIRE(item.find(R"("seq":{"N":"10"})") != std::string::npos);
  REQUIRE(item.find(R"("seqd_meaning:seq":{"S":"last"})") != std::string::npos);
  REQUIRE(item.find("\"seqd_end:" + slot + R"(":{"N":"11"})") != std::string::npos);
  REQUIRE(item.find("\"seqd_lease:" + slot + R"(":{"M":{)") != std::string::npos);
  REQUIRE(item.find(to_hex(request.token)) != std::string::npos);
}

TEST_CASE("DynamoStore: attributes of others stay", "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  fixture.server.put("orders", R"({"seq": {"N": "41"}, "note": {"S": "theirs"},
      "deep": {"M": {"list": {"L": [{"BOOL": true}, {"NULL": true}]}}}})");
  auto request = slot_request();
  request.binding.meaning = Meaning::last;
  require_granted(store->lease(request), 42, 52);
  const std::string item = fixture.server.item("orders");
  REQUIRE(item.find(R"("note":{"S":"theirs"})") != std::string::npos);
  REQUIRE(item.find(R"("deep":{"M":{"list":{"L":[{"BOOL":true},{"NULL":true}]}}})") !=
          std::string::npos);
}

TEST_CASE("DynamoStore: an identity that was damaged is refused with the item it is in",
          "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  fixture.server.call("PutItem",
                      R"({"TableName": "seqd_instances", "Item": {
                          "instance": {"S": "seqd-identity"}, "seqd_identity": {"S": "damaged"}}})");
  const Result<Token> identity = store->identify(random_token());
  REQUIRE(identity.status().code() == ErrorCode::STORE_REFUSED);
  INFO(identity.status().to_string());
  REQUIRE(identity.status().text().find("\"seqd-identity\"") != std::string::npos);
}

TEST_CASE("DynamoStore: what is no integer is refused by name, and stays", "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  const std::string value =
      GENERATE(R"({"S": "41"})", R"({"N": "1.5"})", R"({"N": "1E+30"})", R"({"NULL": true})",
               R"({"BOOL": true})", R"({"L": [{"N": "1"}]})", R"({"M": {"N": {"N": "1"}}})",
               R"({"N": "9223372036854775808"})");
  fixture.server.put("orders", fmt::format(R"({{"seq": {}}})", value));
  const std::string before = fixture.server.item("orders");
  auto request = slot_request();
  request.binding.meaning = Meaning::last;
  const LeaseOutcome outcome = store->lease(request);
  require_refused(outcome, ErrorCode::SEQ_TYPE);
  REQUIRE(outcome.error.text().find("attribute seq holds") != std::string::npos);
  REQUIRE(fixture.server.item("orders") == before);
}

TEST_CASE("DynamoStore: an item without a number, or with a strange mark, is refused", "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  auto request = slot_request();
  request.binding.meaning = Meaning::last;
  fixture.server.put("orders", R"({"other": {"N": "5"}})");
  require_refused(store->lease(request), ErrorCode::SEQ_TYPE);
  fixture.server.put("orders", R"({"seq": {"N": "5"}, "seqd_meaning:seq": {"S": "first"}})");
  require_refused(store->lease(request), ErrorCode::SEQ_MEANING);
}

TEST_CASE("DynamoStore: a record that was edited is refused, and not guessed at", "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  auto request = slot_request();
  request.binding.meaning = Meaning::last;
  const std::string slot = to_hex(request.instance) + ":orders";
  const std::string record = GENERATE(
      R"({"S": "granted"})", R"({"M": {"token": {"S": "00"}, "state": {"S": "granted"}}})",
      R"({"M": {"token": {"S": "00000000000000000000000000000000"}, "state": {"S": "granted"}}})",
      R"({"M": {"token": {"S": "00000000000000000000000000000000"}, "state": {"S": "odd"}}})");
  fixture.server.put("orders",
                     fmt::format(R"({{"seq": {{"N": "5"}}, "seqd_lease:{}": {}}})", slot, record));
  require_refused(store->lease(request), ErrorCode::STORE_REFUSED);
  REQUIRE(store->resolve(request).kind == Resolution::Kind::failed);
  REQUIRE(fixture.server.number("orders") == 5);
}

// A lease that follows another one looks at nothing first, and the service adds to any number.
TEST_CASE("DynamoStore: a lease of a number that has become a fraction ends, and grants nothing",
          "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  auto request = slot_request();
  request.binding.meaning = Meaning::last;
  require_granted(store->lease(request), 1, 11);
  auto item = nlohmann::json::parse(fixture.server.item("orders"))["Item"];
  item["seq"]["N"] = "10.5";
  fixture.server.put("orders", item.dump());
  request.token = random_token(LeaseTrace::slot);
  request.high_water = 11;
  REQUIRE(store->lease(request).error.code() == ErrorCode::SEQ_TYPE);
  REQUIRE(store->resolve(request).kind == Resolution::Kind::absent);
  request.token = random_token(LeaseTrace::slot);
  require_refused(store->lease(request), ErrorCode::SEQ_TYPE);
  // It is repaired, and the slot is as good as before.
  item = nlohmann::json::parse(fixture.server.item("orders"))["Item"];
  item["seq"]["N"] = "40";
  fixture.server.put("orders", item.dump());
  request.token = random_token(LeaseTrace::slot);
  require_granted(store->lease(request), 41, 51);
  REQUIRE(store->resolve(request).kind == Resolution::Kind::granted);
}

TEST_CASE("DynamoStore: old code that writes the item again loses the records, and no ID twice",
          "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  auto request = slot_request();
  request.binding.meaning = Meaning::last;
  require_granted(store->lease(request), 1, 11);
  fixture.server.put("orders", R"({"seq": {"N": "11"}})");
  request.token = random_token(LeaseTrace::slot);
  request.high_water = 11;
  require_granted(store->lease(request), 12, 22);
}

TEST_CASE("DynamoStore: a record that is not there is absent only where it was never made",
          "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  fixture.put("orders", 5, Meaning::last);
  auto request = slot_request();
  // An instance that this store has not seen may have lost it.
  REQUIRE(store->resolve(request).kind == Resolution::Kind::untraceable);
  REQUIRE(*store->claim({.instance = request.instance, .epoch = 0, .nonce = random_token()}) ==
          ClaimOutcome::won);
  REQUIRE(store->resolve(request).kind == Resolution::Kind::absent);
  require_refused(store->lease(request), ErrorCode::STORE_REFUSED);
}

TEST_CASE("DynamoStore: records of daemons that are gone are removed, and their leases untraceable",
          "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  fixture.put("orders", 5, Meaning::last);
  auto old = slot_request();
  old.instance.fill(3);
  REQUIRE(*store->claim({.instance = old.instance, .epoch = 0, .nonce = random_token()}) ==
          ClaimOutcome::won);
  require_granted(store->lease(old), 6, 16);
  const std::string slot = to_hex(old.instance) + ":orders";
  fixture.server.call("UpdateItem",
                      fmt::format(
                          R"({{"TableName": "counters", "Key": {{"_id": {{"S": "orders"}}}},
              "UpdateExpression": "SET #l.#a = :a",
              "ExpressionAttributeNames": {{"#l": "seqd_lease:{}", "#a": "at"}},
              "ExpressionAttributeValues": {{":a": {{"N": "1000"}}}}}})",
                          slot));
  require_granted(store->lease(slot_request()), 16, 26);
  REQUIRE(fixture.server.item("orders").find(slot) == std::string::npos);
  REQUIRE(store->resolve(old).kind == Resolution::Kind::untraceable);
  // It leases on all the same.
  old.token = random_token(LeaseTrace::slot);
  old.high_water = 16;
  require_granted(store->lease(old), 26, 36);
}

TEST_CASE("DynamoStore: a missing table is named, and what to do", "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  auto request = slot_request();
  request.binding.collection = "no_such_table";
  const LeaseOutcome outcome = store->lease(request);
  require_refused(outcome, ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("table no_such_table") != std::string::npos);
  REQUIRE(outcome.error.text().find("create it") != std::string::npos);
  request.binding.collection = "counters";
  request.binding.key_field = "NextKey";
  require_refused(store->lease(request), ErrorCode::STORE_REFUSED);  // not the table's key
}

TEST_CASE("DynamoStore: bindings that no table has are refused before anything is sent",
          "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  const auto refuses = [&](auto change) {
    auto request = slot_request();
    change(request.binding);
    require_refused(store->lease(request), ErrorCode::CONFIG);
    REQUIRE(store->read({.binding = request.binding, .instance = {}}).status().code() ==
            ErrorCode::CONFIG);
    REQUIRE(store->advance({.binding = request.binding, .next_id = 5}).status().code() ==
            ErrorCode::CONFIG);
  };
  refuses([](CounterBinding& binding) { binding.collection = "ab"; });
  refuses([](CounterBinding& binding) { binding.collection = "with space"; });
  refuses([](CounterBinding& binding) { binding.counter_field = "_id"; });
  refuses([](CounterBinding& binding) { binding.counter_field = "seqd_meaning"; });
  refuses([](CounterBinding& binding) { binding.counter_field = ""; });
  refuses([](CounterBinding& binding) { binding.key = "\xff"; });
  refuses([](CounterBinding& binding) { binding.key = std::string(2000, 'x'); });
}

TEST_CASE("DynamoStore: options that cannot be used are refused by name", "[dynamo]") {
  DynamoStoreOptions good;
  good.region = "eu-central-1";
  REQUIRE(check_dynamo_options(good).ok());
  REQUIRE(endpoint_of(good) == "https://dynamodb.eu-central-1.amazonaws.com");
  good.region = "cn-north-1";
  REQUIRE(endpoint_of(good) == "https://dynamodb.cn-north-1.amazonaws.com.cn");
  const auto refuses = [](const std::string& begin, auto change) {
    DynamoStoreOptions options;
    options.region = "eu-central-1";
    change(options);
    const Status status = check_dynamo_options(options);
    INFO(status.to_string());
    REQUIRE(status.code() == ErrorCode::CONFIG);
    REQUIRE(status.text().find(begin) != std::string::npos);
  };
  using Options = DynamoStoreOptions;
  refuses("region: ", [](Options& options) { options.region = ""; });
  refuses("region: ", [](Options& options) { options.region = "eu/../x"; });
  refuses("endpoint: ", [](Options& options) { options.endpoint = "ftp://host"; });
  refuses("endpoint: ", [](Options& options) { options.endpoint = "http://"; });
  refuses("endpoint: ", [](Options& options) { options.endpoint = "http://user:secret@host"; });
  refuses("endpoint: ", [](Options& options) { options.endpoint = "http://host/path"; });
  refuses("instances_table", [](Options& options) { options.instances_table = "x"; });
  refuses("instances_key", [](Options& options) { options.instances_key = "seqd_x"; });
}

TEST_CASE("DynamoStore: two numbers of one item have their own floor and meaning", "[dynamo]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  fixture.server.put("orders", R"({"seq": {"N": "10"}, "seqd_meaning:seq": {"S": "last"},
                                   "invoices": {"N": "50"}})");
  auto one = slot_request();
  require_granted(store->lease(one), 11, 21);
  auto two = slot_request();
  two.sequence = "invoices";
  two.binding.counter_field = "invoices";
  require_refused(store->lease(two), ErrorCode::SEQ_MEANING);
  two.binding.meaning = Meaning::next;
  two.token = random_token(LeaseTrace::slot);
  require_granted(store->lease(two), 50, 60);
  REQUIRE(*store->advance({.binding = one.binding, .next_id = 1'000, .withdraw = true}) == 1'000);
  REQUIRE(store->read({.binding = one.binding, .instance = {}})->floor == 1'000);
  REQUIRE(store->read({.binding = two.binding, .instance = {}})->floor == 0);
  require_returned(store->return_range(return_of(two, 55, 60, Reuse::parked, LeaseTrace::slot)));
}

}  // namespace
}  // namespace seqd
