// What clients see of a sequence with periods: the name alone takes IDs, that of a period may be
// asked about; a text and a repeat stay with the period that they came from.
#include <string>

#include "daemon/core/text/id_format.h"
#include "tests/unit/one_summer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// VirtualTime begins at 2023-11-14 22:13:21.
constexpr std::int64_t kToMidnightMs = 6'399'000;

struct PeriodService : Service {
  explicit PeriodService(const std::shared_ptr<const TimeZone>& zone = nullptr) {
    SequenceSettings& settings = world.core.settings.add("daily");
    settings.periods.period = "day";
    settings.periods.rule = PeriodRule::make("day", zone).value();
    settings.text.compiled = std::make_shared<IdFormat>(
        read_template("{date:%y%m%d-%H%M%S}-{number}").value(), zone, nullptr);
  }
  Line& hello(std::uint8_t who) {
    Line& connected = world.connect();
    REQUIRE(world.ask(connected, hello_request(0, who)).code == ErrorCode::OK);
    return connected;
  }
};

std::string next_text(std::uint32_t msgid) {
  std::string bytes = request("next_text", "daily");
  bytes[2] = static_cast<char>(msgid);
  return bytes;
}

std::string text_of(const Reply& reply) {
  INFO(reply.text);
  REQUIRE(reply.code == ErrorCode::OK);
  return std::string(reply.result().read_text().value());
}

TEST_CASE("IdsAreAskedForByTheNameAlone", "[period]") {
  PeriodService service;
  CHECK(service.ask(next_request(1, "daily")).id() == 1);
  CHECK(service.ask(next_request(2, "daily")).id() == 2);
  for (const char* name : {"daily@2023-11-14", "daily@", "@", "daily@2023-11-14@x"}) {
    CHECK(service.ask(next_request(3, name)).code == ErrorCode::BAD_REQUEST);
    CHECK(service.ask(range_request(3, name, 2)).code == ErrorCode::BAD_REQUEST);
  }
  service.world.core.time.advance(kToMidnightMs);
  CHECK(service.ask(next_request(4, "daily")).id() == 1);
  CHECK(service.ask(range_request(5, "daily", 3)).runs() == std::vector<Run>{{2, 3, 1}});
}

TEST_CASE("PeriodsAreAskedAboutByTheirNames", "[period]") {
  PeriodService service;
  REQUIRE(service.ask(next_request(1, "daily")).id() == 1);
  service.world.core.time.advance(kToMidnightMs);
  REQUIRE(service.ask(next_request(2, "daily")).id() == 1);
  REQUIRE(service.ask(next_request(3, "daily")).id() == 2);
  const std::string today = service.ask(peek_request(4, "daily@2023-11-15")).frame;
  CHECK(service.ask(peek_request(4, "daily")).frame == today);
  CHECK(service.ask(peek_request(4, "daily@2023-11-14")).frame != today);
  CHECK(service.ask(peek_request(4, "daily@")).code == ErrorCode::BAD_REQUEST);
  const std::string present = service.ask(request("list", "daily")).frame;
  CHECK(present == service.ask(request("list", "daily@2023-11-15")).frame);
  CHECK(present.find("daily@2023-11-14") == std::string::npos);
  const std::string listed = service.ask(plain_request(5, "list")).frame;
  CHECK(listed.find("daily@2023-11-14") != std::string::npos);
  CHECK(listed.find("daily@2023-11-15") != std::string::npos);
}

// By such a name nobody can take IDs; "list" gives them, and "rights" is asked about those.
TEST_CASE("RightsOfAPeriodAreThoseOfThePresentOneAlone", "[period]") {
  PeriodService service;
  REQUIRE(service.ask(next_request(1, "daily")).id() == 1);
  service.world.core.time.advance(kToMidnightMs);
  const auto may_take = [&](const char* name) {
    const std::string frame = service.ask(request("rights", name)).frame;
    REQUIRE(frame.find("\xa4take") != std::string::npos);
    return frame.find("\xa4take\xc3") != std::string::npos;
  };
  CHECK(may_take("daily"));
  CHECK(may_take("daily@2023-11-15"));
  CHECK_FALSE(may_take("daily@2023-11-14"));
  CHECK_FALSE(may_take("daily@2023-11-16"));
  CHECK_FALSE(may_take("daily@never"));
  CHECK(service.ask(request("rights", "daily@2023-11-14")).frame.find("present period") !=
        std::string::npos);
  REQUIRE(service.ask(next_request(2, "daily")).id() == 1);
  CHECK(may_take("daily@2023-11-15"));
  CHECK_FALSE(may_take("daily@2023-11-14"));
}

TEST_CASE("RightsOfThePresentPeriodAreThereBeforeItsFirstId", "[period]") {
  PeriodService service;
  const std::string present = service.ask(request("rights", "daily@2023-11-14")).frame;
  CHECK(present.find("\xa4take\xc3") != std::string::npos);
  for (const char* name : {"daily@2023-11-15", "daily@2023-11-13", "daily@never"}) {
    const std::string frame = service.ask(request("rights", name)).frame;
    CHECK(frame.find("\xa4take\xc2") != std::string::npos);
  }
  CHECK(service.world.core.table->sequences().size() == 0);  // nothing is made by a question
}

TEST_CASE("TheHistoryIsAskedByTheNameOfThePresentPeriod", "[period]") {
  PeriodService service;
  REQUIRE(service.ask(next_request(1, "daily")).id() == 1);
  static_cast<void>(service.ask(request("gaps", "daily")));
  CHECK(service.world.history.asked.name == "daily@2023-11-14");
  service.world.core.time.advance(kToMidnightMs);
  static_cast<void>(service.ask(request("gaps", "daily@2023-11-14")));
  CHECK(service.world.history.asked.name == "daily@2023-11-14");
  REQUIRE(service.ask(next_request(2, "daily")).id() == 1);
  static_cast<void>(service.ask(request("gaps", "daily")));
  CHECK(service.world.history.asked.name == "daily@2023-11-15");
}

TEST_CASE("TextTellsThePeriodThatItsNumberWasCountedIn", "[period]") {
  PeriodService service;
  CHECK(text_of(service.ask(next_text(1))) == "231114-221321-1");
  CHECK(text_of(service.ask(next_text(2))) == "231114-221321-2");
  // Asked for before midnight, answered after it.
  service.world.core.time.advance(kToMidnightMs - 1'000);
  service.world.send(*service.line, range_request(4, "daily", 500));
  service.world.turn();
  service.world.send(*service.line, next_text(5));
  service.world.turn();
  service.world.core.time.advance(3'000);
  service.world.settle();
  const std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 2);
  CHECK(text_of(replies[1]).find("231114-235959-") == 0);
  CHECK(text_of(service.ask(next_text(6))) == "231115-000002-1");
}

TEST_CASE("TextTellsItsOwnTimeOnADayOnWhichTheClockIsChanged", "[period]") {
  PeriodService service(std::make_shared<OneSummer>());
  service.world.core.time.wall_set_ms +=
      1'000 * (kSummerEnds - 1) - service.world.core.time.wall_ms();
  CHECK(text_of(service.ask(next_text(1))) == "261025-025959-1");
  service.world.core.time.advance(2 * 3'600'000);
  CHECK(text_of(service.ask(next_text(2))) == "261025-035959-2");
}

TEST_CASE("RepeatInALaterPeriodGetsTheSameNumberAndText", "[period]") {
  PeriodService service;
  Line& first = service.hello(7);
  const std::int64_t id = service.world.ask(first, next_request(1, "daily")).id();
  const std::string text = text_of(service.world.ask(first, next_text(2)));
  service.world.hang_up(first);
  service.world.core.time.advance(kToMidnightMs + 600'000);
  Line& again = service.hello(7);
  CHECK(service.world.ask(again, next_request(1, "daily")).id() == id);
  CHECK(text_of(service.world.ask(again, next_text(2))) == text);
  CHECK(text.find("231114-") == 0);
  // A repeat of another name is none.
  CHECK(service.world.ask(again, next_request(1, "orders")).code == ErrorCode::BAD_REQUEST);
  CHECK(service.world.ask(again, next_request(3, "daily")).id() == 1);
}

TEST_CASE("RepeatIsAnsweredWhateverBecomesOfThePresentPeriod", "[period]") {
  PeriodService service;
  CoreWorld& core = service.world.core;
  core.settings.by_name["daily"].periods.retain_ms = 86'400'000;
  Line& first = service.hello(7);
  const std::int64_t id = service.world.ask(first, next_request(1, "daily")).id();
  const auto runs = service.world.ask(first, range_request(2, "daily", 3)).runs();
  const std::string text = text_of(service.world.ask(first, next_text(3)));
  ErrorCode refusal = ErrorCode::OK;
  SECTION("its counter may have been removed") {
    core.time.wall_set_ms -= 10LL * 86'400'000;
    refusal = ErrorCode::SEQ_REGRESSED;
  }
  SECTION("the name is not configured any more") {
    core.settings.by_name.erase("daily");
    core.time.advance(kToMidnightMs);
    refusal = ErrorCode::NO_SEQUENCE;
  }
  service.world.hang_up(first);
  Line& again = service.hello(7);
  CHECK(service.world.ask(again, next_request(4, "daily")).code == refusal);
  CHECK(service.world.ask(again, next_request(1, "daily")).id() == id);
  CHECK(service.world.ask(again, range_request(2, "daily", 3)).runs() == runs);
  CHECK(text_of(service.world.ask(again, next_text(3))) == text);
  // Neither another name nor what was acknowledged is a repeat.
  CHECK(service.world.ask(again, next_request(1, "dail")).code == ErrorCode::NO_SEQUENCE);
}

TEST_CASE("ATextIsExplainedInThePeriodThatItTells", "[period]") {
  PeriodService service;
  const std::string text = text_of(service.ask(next_text(1)));
  service.world.core.time.advance(kToMidnightMs);
  REQUIRE(service.ask(next_request(2, "daily")).id() == 1);
  const std::string packed = static_cast<char>(0xa0 + text.size()) + text;
  IdAnswer answer;
  answer.known = true;
  answer.issue.emplace().callers.push_back({3, 1'000, 77, "shop"});
  service.world.history.id = answer;
  const auto seen = map_of(service.ask(request("explain", "daily", 2, packed)));
  CHECK(service.world.history.asked_id ==
        std::pair<std::string, std::int64_t>("daily@2023-11-14", 1));
  CHECK(seen.at("name") == "daily@2023-11-14");
  CHECK(seen.at("id") == "1");
  CHECK(seen.at("answer") == "issued");
  // The same by the name of another period, which the text knows better.
  static_cast<void>(service.ask(request("explain", "daily@2023-11-15", 2, packed)));
  CHECK(service.world.history.asked_id.first == "daily@2023-11-14");
  CHECK(service.code(request("explain", "daily", 2, "\xa4none")) == ErrorCode::BAD_TEXT);
}

// 33 days on, the first period is not known to the core any more.
struct ForgottenPeriod : PeriodService {
  explicit ForgottenPeriod(std::int64_t increment = 1) {
    if (increment > 1) {
      IdProgression::Form form;
      form.increment = increment;
      world.core.settings.by_name.at("daily").progression.compiled =
          std::make_shared<IdProgression>(form);
    }
    REQUIRE(ask(next_request(1, "daily")).id() == 1);
    world.core.time.advance(std::int64_t{33} * 86'400'000);
    REQUIRE(ask(next_request(2, "daily")).id() == 1);
    for (int step = 0; step < 4; ++step) {
      world.core.time.advance(60'000);
      world.settle();
    }
    REQUIRE(world.core.table->find("daily@2023-11-14") == 0);
  }
};

TEST_CASE("AForgottenPeriodIsAuditedFromTheHistory", "[period]") {
  ForgottenPeriod service;
  SumsAnswer sums;
  sums.known = sums.ended = true;
  sums.recorded = sums.rows = {0, 10, 1, 0, 9, 0};
  service.world.history.sums = sums;
  auto seen = map_of(service.ask(request("audit", "daily@2023-11-14")));
  CHECK(seen.at("good") == "true");
  CHECK(seen.at("forgotten") == "true");
  CHECK(seen.at("leased") == "10");
  CHECK(seen.at("gaps") == "9");
  CHECK(seen.at("unaccounted") == "0");
  CHECK(service.world.core.store.read_calls.empty());
  // A row is missing, and an ID that nothing accounts for.
  sums.rows.issued = 0;
  sums.recorded.gaps = sums.rows.gaps = 8;
  service.world.history.sums = sums;
  seen = map_of(service.ask(request("audit", "daily@2023-11-14")));
  CHECK(seen.at("good") == "false");
  CHECK(seen.at("unaccounted") == "1");
  CHECK(seen.at("problems") == "array of 2");
  CHECK(map_of(service.ask(request("audit", "daily"))).at("forgotten") == "false");
}

TEST_CASE("AForgottenPeriodWithoutHistoryIsNotReportedAsUnused", "[period]") {
  ForgottenPeriod service;
  for (const auto& asked :
       {request("audit", "daily@2023-11-14"), request("gaps", "daily@2023-11-14"),
        request("explain", "daily@2023-11-14", 2, "\x01")}) {
    const Reply reply = service.ask(asked);
    CHECK(reply.code == ErrorCode::NO_SEQUENCE);
    CHECK(reply.text.find("is over, and its history is no longer kept") != std::string::npos);
  }
  CHECK(service.ask(request("audit", "daily@2022-11-14")).text.find("no record") !=
        std::string::npos);
}

TEST_CASE("AForgottenPeriodHasTheProgressionOfTheOthers", "[period]") {
  ForgottenPeriod service(10);
  IdAnswer found;
  found.known = true;
  service.world.history.id = found;
  // 1, 11, 21: the third.
  const auto seen = map_of(service.ask(request("explain", "daily@2023-11-14", 2, "\x15")));
  CHECK(service.world.history.asked_id.second == 3);
  CHECK(seen.at("id") == "21");
  CHECK(seen.at("answer") == "older");
  CHECK(service.code(request("explain", "daily@2023-11-14", 2, "\x05")) == ErrorCode::BAD_REQUEST);
}

}  // namespace
}  // namespace seqd
