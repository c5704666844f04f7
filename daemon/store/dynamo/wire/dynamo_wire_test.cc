#include "daemon/store/dynamo/wire/dynamo_wire.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace seqd {
namespace {

using Json = nlohmann::json;

const DynamoKey kKey{"NextId", "NextKey", "orders"};

TEST_CASE("DynamoWire: a read is strongly consistent", "[dynamo]") {
  REQUIRE(Json::parse(read_body(kKey)) ==
          Json::parse(R"({"TableName": "NextId", "Key": {"NextKey": {"S": "orders"}},
                          "ConsistentRead": true})"));
}

TEST_CASE("DynamoWire: an update is written as the service's manual has it", "[dynamo]") {
  DynamoUpdate update(kKey);
  update.require_between("NextId", 5, 9)
      .require_missing("gone")
      .require_there("there")
      .require_equal("state", dynamo_text("on"))
      .require_equal_or_missing("mark", dynamo_text("last"))
      .require_member("record", "token", dynamo_text("t"))
      .set("mark", dynamo_text("last"))
      .set_sum("end", "NextId", 10)
      .set("record", dynamo_map({{"count", dynamo_number(-3)}}))
      .remove("old")
      .remove("older");
  const Json body = Json::parse(update.body());
  REQUIRE(body["TableName"] == "NextId");
  REQUIRE(body["Key"] == Json::parse(R"({"NextKey": {"S": "orders"}})"));
  REQUIRE(body["ReturnValues"] == "UPDATED_NEW");
  REQUIRE(body["ConditionExpression"] ==
          "(#n0 BETWEEN :v0 AND :v1) AND attribute_not_exists(#n1) AND attribute_exists(#n2) AND "
          "#n3 = :v2 AND (attribute_not_exists(#n4) OR #n4 = :v3) AND #n5.#n6 = :v4");
  REQUIRE(body["UpdateExpression"] == "SET #n4 = :v5, #n7 = #n0 + :v6, #n5 = :v7 REMOVE #n8, #n9");
  REQUIRE(body["ExpressionAttributeNames"] ==
          Json::parse(R"({"#n0": "NextId", "#n1": "gone", "#n2": "there", "#n3": "state",
                          "#n4": "mark", "#n5": "record", "#n6": "token", "#n7": "end",
                          "#n8": "old", "#n9": "older"})"));
  REQUIRE(body["ExpressionAttributeValues"] ==
          Json::parse(R"({":v0": {"N": "5"}, ":v1": {"N": "9"}, ":v2": {"S": "on"},
                          ":v3": {"S": "last"}, ":v4": {"S": "t"}, ":v5": {"S": "last"},
                          ":v6": {"N": "10"}, ":v7": {"M": {"count": {"N": "-3"}}}})"));
}

TEST_CASE("DynamoWire: names and keys with letters of JSON come through whole", "[dynamo]") {
  const std::string odd = "a\"b\\c\n\x01\xc3\xa9";
  DynamoUpdate update({"t", odd, odd});
  update.set(odd, dynamo_text(odd));
  const Json body = Json::parse(update.body());
  REQUIRE(body["Key"][odd]["S"] == odd);
  REQUIRE(body["ExpressionAttributeNames"]["#n0"] == odd);
  REQUIRE(body["ExpressionAttributeValues"][":v0"]["S"] == odd);
}

TEST_CASE("DynamoWire: an item is read with the types of its attributes", "[dynamo]") {
  const auto body = read_dynamo_body(
      R"({"Item": {"n": {"N": "7"}, "s": {"S": "x"}, "b": {"BOOL": true}, "l": {"L": [{"N": "1"}]},
                   "m": {"M": {"n": {"N": "8"}, "deep": {"M": {"x": {"S": "y"}}}}}}})");
  REQUIRE(body.ok());
  REQUIRE(body->error_type.empty());
  const DynamoItem& item = *body->item;
  REQUIRE(item.size() == 5);
  REQUIRE(dynamo_integer(item.at("n")) == 7);
  REQUIRE(item.at("s").kind == DynamoScalar::Kind::text);
  REQUIRE(item.at("b").text == "BOOL");
  REQUIRE(item.at("l").text == "L");
  REQUIRE(item.at("m").is_map);
  REQUIRE(dynamo_integer(item.at("m").members.at("n")) == 8);
  REQUIRE(item.at("m").members.at("deep").text == "M");
}

TEST_CASE("DynamoWire: a transaction has its updates as they are alone, and its token",
          "[dynamo]") {
  DynamoUpdate one({"t", "k", "a"});
  one.require_equal("n", dynamo_number(1)).set("n", dynamo_number(2));
  DynamoUpdate two({"t", "k", "b"});
  two.require_not_in("had", dynamo_text("x"))
      .put_in("had", dynamo_texts({"y"}))
      .take_out("free", dynamo_numbers({5}))
      .set_first("first", dynamo_number(7));
  REQUIRE(one.part() ==
          R"({"ConditionExpression":"#n0 = :v0","ExpressionAttributeNames":{"#n0":"n"},)"
          R"("ExpressionAttributeValues":{":v0":{"N":"1"},":v1":{"N":"2"}},"Key":{"k":{"S":"a"}},)"
          R"("TableName":"t","UpdateExpression":"SET #n0 = :v1"})");
  const std::string part = two.part();
  for (const char* const piece :
       {"NOT contains(#n0, :v0)", R"(":v1":{"SS":["y"]},":v2":{"NS":["5"]})",
        "SET #n2 = if_not_exists(#n2, :v3) ADD #n0 :v1 DELETE #n1 :v2"})
    REQUIRE(part.find(piece) != std::string::npos);
  REQUIRE(transaction_body({one, two}, "0f") ==
          R"({"ClientRequestToken":"0f","TransactItems":[{"Update":)" + one.part() +
              R"(},{"Update":)" + part + "}]}");
  REQUIRE(read_together_body({"t", "k", {"a"}}) ==
          R"({"TransactItems":[{"Get":{"Key":{"k":{"S":"a"}},"TableName":"t"}}]})");
}

TEST_CASE("DynamoWire: items that are read together are there, each in its place, or are not",
          "[dynamo]") {
  const auto body = read_dynamo_body(
      R"({"Responses": [{}, {"Item": {"s": {"SS": ["x", "y"]}, "n": {"NS": ["1"]}}}]})");
  REQUIRE((body.ok() && body->items && body->items->size() == 2));
  REQUIRE_FALSE(body->items->at(0));
  REQUIRE(body->items->at(1)->at("s").elements == std::set<std::string>{"x", "y"});
  REQUIRE(body->items->at(1)->at("n").elements.size() == 1);
  for (const char* const bad :
       {R"({"Responses": {"t": []}})", R"({"Responses": [5]})", R"({"Responses": [{"Item": 5}]})",
        R"({"Responses": [{"Item": {"s": {"SS": [1]}}}]})",
        R"({"Responses": [{"Item": {"s": {"NS": "1"}}}]})"})
    REQUIRE_FALSE(read_dynamo_body(bad).ok());
}

TEST_CASE("DynamoWire: only integers of 64 bits are integers", "[dynamo]") {
  const auto integer = [](const char* digits) {
    return dynamo_integer(DynamoScalar{DynamoScalar::Kind::number, digits});
  };
  REQUIRE(integer("0") == 0);
  REQUIRE(integer("-5") == -5);
  REQUIRE(integer("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  for (const char* const digits :
       {"", "9223372036854775808", "1.0", "1E3", " 1", "1 ", "+1", "0x1", "NaN", "--1"})
    REQUIRE_FALSE(integer(digits).has_value());
  REQUIRE_FALSE(dynamo_integer(dynamo_text("5")).has_value());
}

TEST_CASE("DynamoWire: what is wrong is read with and without the name of its service",
          "[dynamo]") {
  for (const char* const text :
       {R"({"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "m"})",
        R"({"__type": "ThrottlingException", "Message": "m"})",
        R"({"__type": "ThrottlingException:http://internal.amazon.com/x", "message": "m"})"}) {
    const auto body = read_dynamo_body(text);
    REQUIRE(body.ok());
    REQUIRE(body->error_type == "ThrottlingException");
    REQUIRE(body->message == "m");
    REQUIRE_FALSE(body->item.has_value());
  }
}

TEST_CASE("DynamoWire: what is no answer of the service is refused", "[dynamo]") {
  const std::string deep(100'000, '[');
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"), deep,
        std::string(R"({"Item": []})"), std::string(R"({"Item": {"a": 5}})"),
        std::string(R"({"Item": {"a": {}}})"), std::string(R"({"Item": {"a": {"N": 5}}})"),
        std::string(R"({"Item": {"a": {"N": "5", "S": "x"}}})"),
        std::string(R"({"Item": {"a": {"M": []}}})"),
        std::string(R"({"Item": {"a": {"M": {"b": 1}}}})"),
        std::string("{\"Item\": {\"a\": {\"S\": \"\xff\"}}}")}) {
    REQUIRE_FALSE(read_dynamo_body(text).ok());
  }
}

}  // namespace
}  // namespace seqd
