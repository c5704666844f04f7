// Sequences with a progression as their callers see them: values everywhere, of ordinals that the
// core, the log and the store count.
#include <string>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Runs = std::vector<Run>;

struct ProgressionService : Service {
  ProgressionService() {
    progression("fives", {10, 5, 0, 1'000'000, false});
    progression("down", {0, -1, -1'000, 0, false});
    progression("few", {1, 2, 1, 9, false});
    progression("round", {3, 1, 1, 4, true});
  }
  void progression(const std::string& name, const IdProgression::Form& form) {
    world.core.settings.add(name).progression.compiled = std::make_shared<IdProgression>(form);
  }
  std::map<std::string, std::string> explain(std::string_view name, std::int64_t value) {
    protocol::Buffer params;
    protocol::append_integer(params, value);
    return map_of(ask(request("explain", name, 2, {params.data(), params.size()})));
  }
  Reply advance(std::string_view name, std::int64_t value) {
    protocol::Buffer params;
    protocol::append_integer(params, value);
    return ask(request("advance", name, 2, {params.data(), params.size()}));
  }
};

TEST_CASE("NextGivesValuesWhetherItWaitsOrNot", "[progression]") {
  ProgressionService service;
  for (std::int64_t id = 10; id <= 200; id += 5)
    REQUIRE(service.ask(next_request(1, "fives")).id() == id);
  for (std::int64_t id = 0; id >= -30; --id)
    REQUIRE(service.ask(next_request(1, "down", 100)).id() == id);
  REQUIRE(service.ask(next_request(1, "orders")).id() == 1);
}

TEST_CASE("RangeIsRunsByTheIncrement", "[progression]") {
  ProgressionService service;
  CHECK(service.ask(range_request(1, "fives", 25)).runs() == Runs{{10, 25, 5}});
  CHECK(service.ask(range_request(1, "fives", 2)).runs() == Runs{{135, 2, 5}});
  CHECK(service.ask(range_request(1, "round", 8)).runs() == Runs{{3, 2, 1}, {1, 4, 1}, {1, 2, 1}});
  CHECK(service.ask(next_request(1, "round")).id() == 3);
}

TEST_CASE("RepeatedRequestsGetTheSameValuesAfterAKill", "[progression]") {
  ProgressionService service;
  Line& line = service.world.connect();
  REQUIRE(service.world.ask(line, hello_request(0, 7)).code == ErrorCode::OK);
  CHECK(service.world.ask(line, next_request(1, "down")).id() == 0);
  CHECK(service.world.ask(line, range_request(2, "down", 3)).runs() == Runs{{-1, 3, -1}});
  service.world.kill();
  service.world.start();
  Line& again = service.world.connect();
  REQUIRE(service.world.ask(again, hello_request(0, 7)).code == ErrorCode::OK);
  CHECK(service.world.ask(again, next_request(1, "down")).id() == 0);
  CHECK(service.world.ask(again, range_request(2, "down", 3)).runs() == Runs{{-1, 3, -1}});
  CHECK(service.world.ask(again, next_request(3, "down")).id() == -4);
}

TEST_CASE("ProgressionThatIsChangedWhileIdsAreOutStopsTheSequence", "[progression]") {
  ProgressionService service;
  REQUIRE(service.ask(next_request(1, "fives")).id() == 10);
  REQUIRE(service.ask(next_request(1, "few")).id() == 1);
  service.world.kill();
  service.progression("fives", {10, 7, 0, 1'000'000, false});
  service.progression("few", {1, 2, 1, 99, false});  // only the end is another
  service.world.start();
  Line& line = service.world.connect();
  const Reply changed = service.world.ask(line, next_request(1, "fives"));
  CHECK(changed.code == ErrorCode::SEQ_CHANGED);
  CHECK(changed.text.find("start=10 increment=5") != std::string::npos);
  CHECK(changed.text.find("start=10 increment=7") != std::string::npos);
  CHECK(service.world.ask(line, next_request(1, "few")).id() == 3);
}

TEST_CASE("LastValueIsIssuedAndThenTheSequenceIsExhausted", "[progression]") {
  ProgressionService service;
  CHECK(service.ask(range_request(1, "few", 5)).runs() == Runs{{1, 5, 2}});
  const Reply over = service.ask(next_request(1, "few"));
  CHECK(over.code == ErrorCode::EXHAUSTED);
  CHECK(over.text.find("has issued 9, its last value; max is 9") != std::string::npos);
  CHECK(service.advance("few", 9).code == ErrorCode::EXHAUSTED);
}

TEST_CASE("PeekAndListShowValues", "[progression]") {
  ProgressionService service;
  REQUIRE(service.ask(next_request(1, "down")).id() == 0);
  const auto peeked = map_of(service.ask(peek_request(1, "down")));
  CHECK(peeked.at("last") == "0");
  CHECK(peeked.at("next") == "-1");
  const Reply list = service.ask(request("list", 0, ""));
  protocol::ValueReader reader = list.result();
  REQUIRE(reader.read_array() == 1U);
  CHECK(read_map(reader).at("next") == "-1");
}

TEST_CASE("AdvanceTakesAndGivesValues", "[progression]") {
  ProgressionService service;
  CHECK(service.advance("fives", 60).id() == 60);
  CHECK(service.world.core.store.next_id["fives"] == 11);
  CHECK(service.ask(next_request(1, "fives")).id() == 60);
  CHECK(service.advance("fives", 61).code == ErrorCode::BAD_REQUEST);
  const Reply leased = service.advance("fives", 10);
  CHECK(leased.code == ErrorCode::BAD_REQUEST);
  CHECK(leased.text.find("leased by this host already") != std::string::npos);
  CHECK(service.advance("down", -100).id() == -100);
  CHECK(service.advance("round", 2).id() == 2);
  CHECK(service.ask(next_request(1, "round")).id() == 2);
}

TEST_CASE("ExplainIsAskedByValueAndTellsTheNewestOfACycle", "[progression]") {
  ProgressionService service;
  REQUIRE(service.ask(range_request(1, "round", 7)).runs().size() == 3);
  const auto seen = service.explain("round", 1);
  CHECK(seen.at("id") == "1");
  CHECK(seen.at("times") == "2");
  CHECK(seen.at("text").find("the newest of 2 times") != std::string::npos);
  CHECK(service.explain("round", 2).at("times") == "1");
  REQUIRE(service.ask(next_request(1, "down")).id() == 0);
  const auto below = service.explain("down", -3);
  CHECK(below.at("answer") == "available");
  CHECK(below.at("id") == "-3");
  protocol::Buffer params;
  protocol::append_integer(params, 1);
  const Reply none = service.ask(request("explain", "down", 2, {params.data(), params.size()}));
  CHECK(none.code == ErrorCode::BAD_REQUEST);
  CHECK(none.text.find("1 is no ID of \"down\", which begins at 0") != std::string::npos);
}

TEST_CASE("GapsAndAuditTellValues", "[progression]") {
  ProgressionService service;
  REQUIRE(service.ask(next_request(1, "down")).id() == 0);
  GapsAnswer answer;
  answer.known = true;
  GapRow row;
  row.gap.begin = 5;
  row.gap.end = 8;
  row.gap.place_known = true;
  answer.rows.push_back(row);
  service.world.history.gaps = answer;
  const Reply gaps = service.ask(request("gaps", "down"));
  protocol::ValueReader reader = gaps.result();
  REQUIRE(reader.read_map() == 5U);
  REQUIRE((reader.skip() && reader.skip() && reader.skip()));
  REQUIRE(reader.read_array() == 1U);
  const auto gap = read_map(reader);
  CHECK(gap.at("first") == "-4");
  CHECK(gap.at("count") == "3");
  CHECK(gap.at("last") == "-6");
  const auto audit = map_of(service.ask(request("audit", "down")));
  const std::int64_t next = service.world.core.store.next_id["down"];
  CHECK(audit.at("store.next") == std::to_string(1 - next));
}

TEST_CASE("DrainTellsValuesAndTheirStep", "[progression]") {
  ProgressionService service;
  REQUIRE(service.ask(next_request(1, "fives")).id() == 10);
  const Reply drained = service.ask(request("drain", "fives"));
  protocol::ValueReader reader = drained.result();
  REQUIRE(reader.read_array() == 1U);
  const auto one = read_map(reader);
  CHECK(one.at("step") == "5");
  CHECK(one.at("gaps") == "array of 1");
}

}  // namespace
}  // namespace seqd
