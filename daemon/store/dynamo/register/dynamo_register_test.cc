// What is particular to registers in DynamoDB: which items are read, in which order, how many
// changes are one transaction, what one item has room for, and items that were changed by hand.
#include <fmt/format.h>

#include <string>
#include <variant>
#include <vector>

#include "daemon/store/dynamo/dynamo_names.h"
#include "daemon/store/dynamo/register/dynamo_register_reads.h"
#include "tests/adapters/dynamo/dynamo_registers.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Ended = RegisterOutcome::Kind;

RegisterPlace place_of(const std::string& name, const std::string& period) {
  RegisterPlace place;
  place.binding.key = name;
  place.period = period;
  return place;
}

TEST_CASE("DynamoRegisterItems: no two items have one key, and no counter can have it",
          "[dynamo][register]") {
  std::set<std::string> keys;
  std::size_t count = 0;
  const std::vector<std::string> odd = {"", ":", "1", "1:", ":1", "a:1", "1:a", "key:1:a:"};
  const auto add = [&](const std::string& key) {
    keys.insert(key);
    ++count;
    CounterBinding counter;
    counter.key = key;
    REQUIRE(check_dynamo_binding(counter).code() == ErrorCode::CONFIG);
  };
  for (const std::string& name : odd) {
    for (const std::string& other : odd) {
      const DynamoRegisterItems items(place_of(name, other), "here");
      for (const std::string& key : {items.period_key(), items.free_key(), items.key_key(other)})
        add(key);
      for (const std::int64_t number : {1, 11}) add(items.number_key(number));
    }
  }
  REQUIRE(keys.size() == count);
}

TEST_CASE("DynamoRegister: the highest and what is free are read before the keys",
          "[dynamo][register]") {
  RegisterQuery query{place_of("invoices", ""), {"a"}, {}, 2};
  DynamoRegisterRead plan(query, "here");
  const auto key_of = [](const auto& step) { return std::get<DynamoKey>(step).key; };
  const auto keys_of = [](const auto& step) { return std::get<DynamoKeys>(step).keys; };
  using Keys = std::vector<std::string>;
  using Item = std::optional<DynamoItem>;
  REQUIRE(key_of(plan.begin()) == DynamoRegisters::period_item());
  auto step = plan.after_read(
      Item(DynamoItem{{"seqd_first", dynamo_number(1)}, {"seqd_highest", dynamo_number(3)}}));
  REQUIRE(key_of(step) == DynamoRegisters::free_item());
  step = plan.after_read(Item(DynamoItem{{"seqd_free", dynamo_numbers({3, 2, 10})}}));
  REQUIRE(keys_of(step) == Keys{DynamoRegisters::number_item(2), DynamoRegisters::number_item(3)});
  step = plan.after_items(DynamoItems());
  REQUIRE(keys_of(step) == Keys{DynamoRegisters::key_item("a")});
  step = plan.after_items(
      DynamoItems{{DynamoRegisters::key_item("a"),
                   {{"seqd_number", dynamo_number(3)}, {"seqd_period", dynamo_text("")}}}});
  REQUIRE(keys_of(step) == Keys{DynamoRegisters::number_item(3)});
  // It was cancelled meanwhile; the key has another number by now.
  step = plan.after_items(DynamoItems());
  REQUIRE(keys_of(step) == Keys{DynamoRegisters::key_item("a")});
  step = plan.after_items(
      DynamoItems{{DynamoRegisters::key_item("a"),
                   {{"seqd_number", dynamo_number(4)}, {"seqd_period", dynamo_text("")}}}});
  const auto reading = std::get<Result<RegisterReading>>(step);
  REQUIRE((reading.ok() && reading->highest == 3 && reading->unreadable.empty()));
  REQUIRE_FALSE(reading->of_keys.at(0));
}

TEST_CASE("DynamoRegister: keys and numbers are read in transactions, the period is the newest",
          "[dynamo][register]") {
  DynamoRegisters world;
  world.add({"a", "b"});
  const int together = world.faults.proxy.seen(kReadTogether);
  const int alone = world.faults.proxy.seen("GetItem");
  REQUIRE(world.invoices.read({"a"}, {2}).of_keys.at(0));
  REQUIRE(world.faults.proxy.seen(kReadTogether) == together + 2);
  REQUIRE(world.faults.proxy.seen("GetItem") == alone + 1);
  REQUIRE(read_body({"t", "k", "x"}).find(R"("ConsistentRead":true)") != std::string::npos);
}

TEST_CASE("DynamoRegister: as many numbers are one transaction as it has room for",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  std::vector<std::string> keys;
  for (int at = 0; at < 150; ++at) keys.push_back("k" + std::to_string(at));
  const int before = world.faults.proxy.seen(kTransact);
  world.add(keys);  // 49, 49, 49 and 3
  REQUIRE(world.faults.proxy.seen(kTransact) == before + 4);
  REQUIRE(invoices.read(keys).of_keys.at(149)->number == 150);
  std::vector<RegisterChange> ends;
  for (int at = 0; at < 40; ++at) ends.push_back(invoices.confirm(at + 1, keys[at]));
  for (int at = 40; at < 60; ++at) ends.push_back(invoices.cancel(at + 1, keys[at], true));
  require_ended(invoices.write(ends), Ended::all, 60);
  REQUIRE(world.faults.proxy.seen(kTransact) == before + 5);
  REQUIRE(invoices.read({}, {}, 100).free.size() == 20);
  REQUIRE(invoices.page(0, NumberState::confirmed, 1'000).size() == 40);
  REQUIRE(invoices.page(50, NumberState::free, 5).size() == 5);
  REQUIRE(invoices.page(0, NumberState::assigned, 1'000).size() == 90);
  REQUIRE(invoices.page(120, {}, 1'000).size() == 30);
  REQUIRE(invoices.page(0, {}, 120).size() == 120);
}

TEST_CASE("DynamoRegister: two changes of one number or key are two transactions, in their order",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  require_ended(
      invoices.write({invoices.add(1, "a"), invoices.cancel(1, "a", true),
                      invoices.refill(1, "b", 1), invoices.add(2, "a"),
                      invoices.cancel(2, "a", true), invoices.add(3, "a"), invoices.add(4, "a")}),
      Ended::changed, 6);
  REQUIRE(invoices.keys() == std::vector<std::string>{"b", "", "a"});
  REQUIRE(invoices.read({}, {}, 5).free.size() == 1);
}

TEST_CASE("DynamoRegister: a page begins with the first number, however high that is",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  invoices.place.binding.first_id = std::int64_t{1} << 40;
  const std::int64_t first = invoices.place.binding.first_id;
  require_ended(invoices.write({invoices.add(first, "a"), invoices.add(first + 1, "b")}),
                Ended::all, 2);
  REQUIRE(invoices.page().size() == 2);
  REQUIRE(invoices.page(first).size() == 1);
  REQUIRE(invoices.page(INT64_MAX).empty());
}

TEST_CASE("DynamoRegister: hosts that are configured with two first numbers do not both begin",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  TestRegister other(*world.store);
  other.place.binding.first_id = 7;
  world.add({"a"});
  require_ended(other.write({other.add(7, "b")}), Ended::changed, 0);
  require_ended(other.write({other.close(7)}), Ended::changed, 0);
  REQUIRE(other.assign("b") == 2);
  REQUIRE(invoices.keys() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("DynamoRegister: its mark leaves alone what else is in the item of the name",
          "[dynamo][register]") {
  DynamoRegisters world;
  world.faults.server.put("invoices", R"({"other": {"N": "5"}})");
  world.add({"a"});
  REQUIRE(world.faults.server.number("invoices", "other") == 5);
  REQUIRE(world.faults.server.item("invoices").find("\"register\"") != std::string::npos);
}

TEST_CASE("DynamoRegister: a key that no item can have is refused, and the others go on",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  const std::string bad = GENERATE(std::string("\xff"), std::string(2'100, 'x'));
  REQUIRE_FALSE(invoices.read({bad, "a"}).of_keys.at(0));
  world.require_not_applied({invoices.add(1, "a"), invoices.add(2, bad)}, Ended::refused,
                            ErrorCode::STORE_REFUSED, "at most 2019 bytes", 1);
  REQUIRE(invoices.assign("b") == 2);
}

TEST_CASE("DynamoRegister: an item that was changed by hand is named and the others are as ever",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a", "b"});
  struct Case {
    const char* attribute;
    const char* name;
    const char* value;
  };
  const auto tried = GENERATE(
      Case{"seqd_state", "seqd_state", R"({"S": "sold"})"}, Case{"seqd_state", "seqd_state", ""},
      Case{"seqd_text", "seqd_text", R"({"N": "1"})"},
      Case{"seqd_key", "seqd_state", R"({"S": "void"})"},
      Case{"seqd_assigned.at", "seqd_assigned", R"({"M": {"at": {"S": "1"}, "by": {"S": ""}}})"},
      Case{"seqd_confirmed.at", "seqd_state", R"({"S": "confirmed"})"},
      Case{"seqd_formers", "seqd_formers", R"({"N": "1000"})"},
      Case{"seqd_formers", "seqd_former:0", R"({"M": {}})"},
      Case{"seqd_former:0.key", "seqd_formers", R"({"N": "1"})"},
      Case{"seqd_had", "seqd_had", R"({"SS": ["x"]})"});
  CAPTURE(tried.attribute);
  world.change_by_hand(DynamoRegisters::number_item(1), tried.name, tried.value);
  const RegisterReading reading = invoices.read({"a", "b"}, {1, 2});
  REQUIRE((reading.of_keys.at(1)->number == 2 && reading.of_numbers.at(1)->key == "b"));
  REQUIRE((!reading.of_keys.at(0) && !reading.of_numbers.at(0)));
  REQUIRE(reading.unreadable.size() == 2);
  for (const UnreadableNumber& each : reading.unreadable) {
    INFO(each.why.to_string());
    REQUIRE((each.number == 1 && each.why.code() == ErrorCode::STORE_REFUSED));
    REQUIRE(each.why.text().find(fmt::format("attribute {}:", tried.attribute)) !=
            std::string::npos);
    REQUIRE(each.why.text().find(DynamoRegisters::number_item(1)) != std::string::npos);
  }
  REQUIRE((reading.unreadable.at(0).key == "a" && reading.unreadable.at(1).key.empty()));
  world.require_not_applied({invoices.confirm(2, "b"), invoices.cancel(1, "a")}, Ended::refused,
                            ErrorCode::STORE_REFUSED, "by hand", 1);
  REQUIRE(world.list_error() == ErrorCode::STORE_REFUSED);
  require_ended(invoices.write({invoices.add(3, "c")}), Ended::all, 1);
  REQUIRE(invoices.page(1).size() == 2);
}

TEST_CASE("DynamoRegister: an item of a key, or of a number, that does not fit the other is named",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a", "b"});
  SECTION("the number of another key") {
    world.change_by_hand(DynamoRegisters::key_item("a"), "seqd_number", R"({"N": "2"})");
  }
  SECTION("no number") {
    world.change_by_hand(DynamoRegisters::key_item("a"), "seqd_number", R"({"S": "1"})");
  }
  SECTION("a number that is not there") {
    world.faults.server.remove(world.number_item(1));
  }
  const RegisterReading reading = invoices.read({"a", "b"});
  REQUIRE(!reading.of_keys.at(0));
  REQUIRE(reading.of_keys.at(1)->number == 2);
  REQUIRE((reading.unreadable.size() == 1 && reading.unreadable.at(0).key == "a"));
  REQUIRE(reading.unreadable.at(0).why.code() == ErrorCode::STORE_REFUSED);
}

TEST_CASE("DynamoRegister: a number that is missing below the highest is told",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a", "b"});
  world.faults.server.remove(DynamoRegisters::number_item(1));
  const RegisterReading reading = invoices.read({}, {1, 2, 3, 1});
  REQUIRE((reading.unreadable.size() == 1 && reading.unreadable.at(0).number == 1));
  REQUIRE((reading.of_numbers.at(1) && !reading.of_numbers.at(2)));
  REQUIRE(world.list_error() == ErrorCode::STORE_REFUSED);
}

TEST_CASE("DynamoRegister: nothing follows a period that cannot be read, but elsewhere",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  TestRegister next(*world.store, "2027");
  world.add({"a"});
  const std::string value = GENERATE(R"({"S": "1"})", R"({"N": "0"})", "");
  world.change_by_hand(DynamoRegisters::period_item(), "seqd_highest", value);
  REQUIRE(world.read_error({"a"}) == ErrorCode::STORE_REFUSED);
  REQUIRE(world.list_error() == ErrorCode::STORE_REFUSED);
  require_ended(invoices.write({invoices.add(2, "b")}), Ended::changed, 0);
  require_ended(next.write({next.add(1, "b")}), Ended::all, 1);
}

// Or by a backup, which may have a part of a transaction only.
TEST_CASE("DynamoRegister: a highest number that was lowered by hand is told",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a", "b", "c", "d"});
  world.change_by_hand(DynamoRegisters::period_item(), "seqd_highest", R"({"N": "2"})");
  world.faults.server.remove(DynamoRegisters::number_item(3));
  world.require_not_applied({invoices.confirm(1, "a"), invoices.add(3, "e"), invoices.add(4, "f")},
                            Ended::refused, ErrorCode::STORE_REFUSED, "the highest number", 2);
  world.require_not_applied({invoices.add(4, "f")}, Ended::refused, ErrorCode::STORE_REFUSED,
                            DynamoRegisters::number_item(4));
  require_ended(invoices.write({invoices.add(3, "f")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.confirm(2, "b")}), Ended::all, 1);
}

TEST_CASE("DynamoRegister: what is free and cannot be read is passed over", "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a", "b", "c"});
  require_ended(invoices.write({invoices.cancel(1, "a", true), invoices.cancel(2, "b", true)}),
                Ended::all, 2);
  world.change_by_hand(DynamoRegisters::number_item(1), "seqd_text", R"({"N": "1"})");
  const RegisterReading reading = invoices.read({"d"}, {}, 2);
  REQUIRE((reading.free.size() == 1 && reading.free.at(0).number == 2));
  world.change_by_hand(DynamoRegisters::free_item(), "seqd_free", R"({"NS": ["1.5", "2"]})");
  REQUIRE(invoices.read({"d"}, {}, 2).free.empty());
  REQUIRE(world.list_error(NumberState::free) == ErrorCode::STORE_REFUSED);
  world.require_not_applied({invoices.cancel(3, "c", true)}, Ended::refused,
                            ErrorCode::STORE_REFUSED, "seqd_free");
  require_ended(invoices.write({invoices.cancel(3, "c")}), Ended::all, 1);
}

TEST_CASE("DynamoRegister: no more numbers are kept free than one item has room for",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a"});
  std::string many;
  for (std::size_t at = 0; at < kMostDynamoFree; ++at)
    many += fmt::format("{}\"{}\"", at == 0 ? "" : ", ", std::int64_t{1} << 50 | at);
  world.change_by_hand(DynamoRegisters::free_item(), "seqd_free", R"({"NS": [)" + many + "]}");
  world.require_not_applied({invoices.cancel(1, "a", true)}, Ended::refused,
                            ErrorCode::STORE_REFUSED, "are free already");
  require_ended(invoices.write({invoices.cancel(1, "a")}), Ended::all, 1);
}

TEST_CASE("DynamoRegister: a number whose item is full is refused by name, and the others go on",
          "[dynamo][register]") {
  DynamoRegisters world;
  TestRegister& invoices = world.invoices;
  world.add({"a", "b"});
  world.change_by_hand(DynamoRegisters::number_item(2), "filled",
                       R"({"S": ")" + std::string(409'380, 'x') + "\"}");
  world.require_not_applied({invoices.cancel(1, "a"), invoices.cancel(2, "b")}, Ended::refused,
                            ErrorCode::STORE_REFUSED, "400 KB", 1);
  REQUIRE(invoices.read({"b"}).of_keys.at(0)->number == 2);
  REQUIRE(invoices.assign("c") == 3);
}

}  // namespace
}  // namespace seqd
