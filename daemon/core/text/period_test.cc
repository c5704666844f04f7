#include "daemon/core/text/period.h"

#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "tests/unit/one_summer.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::shared_ptr<const PeriodRule> rule_of(const std::string& period, bool summer = false) {
  auto rule = PeriodRule::make(period, summer ? std::make_shared<OneSummer>() : nullptr);
  REQUIRE(rule.ok());
  return *rule;
}

constexpr std::int64_t kEvening = 1'795'372'200;  // 2026-11-22 18:30 UTC, a Sunday

TEST_CASE("PeriodIsNamedByItsDate", "[period]") {
  const std::map<std::string, std::string> names = {{"year", "2026"},
                                                    {"month", "2026-11"},
                                                    {"week", "2026-W47"},
                                                    {"day", "2026-11-22"},
                                                    {"hour", "2026-11-22T18"}};
  for (const auto& [word, name] : names) {
    const Period period = rule_of(word)->at(kEvening);
    CHECK(period.name == name);
    CHECK(period.text == name);
    CHECK(period.begin_s <= kEvening);
    CHECK(kEvening < period.end_s);
  }
  CHECK(rule_of("day")->at(kEvening).begin_s == kEvening - 66'600);
  CHECK(rule_of("hour")->at(kEvening).end_s == kEvening + 1'800);
}

TEST_CASE("PeriodIsFoundByItsNameAlone", "[period]") {
  for (const char* word : {"year", "month", "week", "day", "hour"}) {
    for (const bool summer : {false, true}) {
      const Period period = rule_of(word, summer)->at(kEvening);
      const std::optional<Period> found = period_in_utc(period.name);
      REQUIRE(found.has_value());
      CHECK(found->name == period.name);
      CHECK(found->begin_s - kMostOffsetS <= period.begin_s);
      CHECK(found->end_s + kMostOffsetS >= period.end_s);
    }
  }
  for (const char* none : {"", "orders", "26-11", "2026-13", "2026-11-22T18:00", "2026-W54"})
    CHECK_FALSE(period_in_utc(none).has_value());
}

TEST_CASE("DateFormatTellsThePeriodAndWritesIt", "[period]") {
  struct Case {
    const char* format;
    PeriodUnit unit;
    const char* name;
    const char* text;
    bool number;
  };
  for (const Case& one :
       {Case{"%y%m%d", PeriodUnit::day, "2026-11-22", "261122", true},
        Case{"%Y%j", PeriodUnit::day, "2026-11-22", "2026326", true},
        Case{"%d.%m.%y", PeriodUnit::day, "2026-11-22", "22.11.26", false},
        Case{"%G%V%u", PeriodUnit::day, "2026-11-22", "2026477", true},
        Case{"%y%m", PeriodUnit::month, "2026-11", "2611", true},
        Case{"9%y%m%d", PeriodUnit::day, "2026-11-22", "9261122", true},
        Case{"99999999999%y", PeriodUnit::year, "2026", "9999999999926", true},
        Case{"%Y0%m", PeriodUnit::month, "2026-11", "2026011", true},
        Case{"%g-%V", PeriodUnit::week, "2026-W47", "26-47", false},
        Case{"FY%Y", PeriodUnit::year, "2026", "FY2026", false},
        Case{"%Y%m%d%H", PeriodUnit::hour, "2026-11-22T18", "2026112218", true}}) {
    INFO(one.format);
    const auto rule = rule_of(one.format);
    CHECK(rule->unit() == one.unit);
    CHECK(rule->at(kEvening).name == one.name);
    CHECK(rule->at(kEvening).text == one.text);
    CHECK(rule->is_number() == one.number);
  }
}

TEST_CASE("WhatTellsNoPeriodIsRefused", "[period]") {
  for (const char* period : {"", "days", "%d", "%m%d", "%Y%d", "%Y%m%d%M", "%H", "%Y%H", "%V", "%G",
                             "%Y%V", "%Q", "%", "%Y{", "%Y%m%d%H%M", "%Y%y", "21st"}) {
    INFO(period);
    const auto rule = PeriodRule::make(period, nullptr);
    REQUIRE_FALSE(rule.ok());
    CHECK(rule.status().code() == ErrorCode::CONFIG);
    CHECK(rule.status().text().find("allowed: year, month, week, day, hour") != std::string::npos);
  }
}

TEST_CASE("DayGoesByTheCalendarOfItsZone", "[period]") {
  const auto rule = rule_of("day", true);
  CHECK(rule->at(1'795'388'399).name == "2026-11-22");  // 22:59:59 UTC
  CHECK(rule->at(1'795'388'400).name == "2026-11-23");
  // Of 23 hours, and of 25.
  const auto spring = rule->named("2026-03-29");
  REQUIRE(spring);
  CHECK(rule->at(spring->begin_s - 1).name == "2026-03-28");
  CHECK(rule->at(spring->begin_s + 23 * 3'600 - 1).name == "2026-03-29");
  CHECK(rule->at(spring->begin_s + 23 * 3'600).name == "2026-03-30");
  const auto autumn = rule->named("2026-10-25");
  REQUIRE(autumn);
  CHECK(autumn->end_s == autumn->begin_s + 25 * 3'600);
  CHECK(spring->end_s == spring->begin_s + 23 * 3'600);
  CHECK(rule->at(autumn->begin_s + 25 * 3'600 - 1).name == "2026-10-25");
  CHECK(rule->at(autumn->begin_s + 25 * 3'600).name == "2026-10-26");
}

TEST_CASE("HourThatComesTwiceIsOnePeriodAndOneThatIsLeftOutIsNone", "[period]") {
  const auto rule = rule_of("hour", true);
  CHECK(rule->at(kSummerEnds - 1).name == "2026-10-25T02");
  CHECK(rule->at(kSummerEnds).name == "2026-10-25T02");
  CHECK(rule->at(kSummerEnds + 3'600).name == "2026-10-25T03");
  CHECK(rule->at(kSummerBegins - 1).name == "2026-03-29T01");
  CHECK(rule->at(kSummerBegins).name == "2026-03-29T03");
  CHECK_FALSE(rule->named("2026-03-29T02"));
}

TEST_CASE("NameThatIsNoPeriodIsNone", "[period]") {
  const auto rule = rule_of("%y%m%d");
  for (const char* name : {"", "2026", "2026-11", "2026-11-31", "2026-13-01", "2026-11-22T18",
                           "2026-11-2x", "1969-12-31", "261122", "2026-11-22 "})
    CHECK_FALSE(rule->named(name));
}

TEST_CASE("EverySecondOfASpanIsInThePeriodAndThePeriodIsFoundByItsName", "[period]") {
  CHECK(rc::check([] {
    const char* const period = *rc::gen::element("year", "month", "week", "day", "hour");
    const auto rule = PeriodRule::make(period, std::make_shared<OneSummer>()).value();
    const bool near_a_change = *rc::gen::arbitrary<bool>();
    const std::int64_t second =
        near_a_change ? *rc::gen::inRange<std::int64_t>(kSummerEnds - 9'000, kSummerEnds + 9'000)
                      : *rc::gen::inRange<std::int64_t>(0, kLastSecond - 86'400);
    const Period found = rule->at(second);
    RC_ASSERT(found.begin_s <= second && second < found.end_s);
    const std::int64_t begin = std::max<std::int64_t>(found.begin_s, 0);
    const std::int64_t within = *rc::gen::inRange(begin, found.end_s);
    RC_ASSERT(rule->at(found.end_s - 1).name == found.name);
    RC_ASSERT(rule->at(within).name == found.name);
    RC_ASSERT(rule->at(found.end_s).name != found.name);
    RC_ASSERT(begin == 0 || rule->at(begin).name == found.name);
    RC_ASSERT(begin == 0 || rule->at(begin - 1).name != found.name);
    const auto named = rule->named(found.name);
    if (found.begin_s >= 0) RC_ASSERT(named && named->name == found.name);
    if (named) RC_ASSERT(rule->at(named->begin_s).name == found.name);
  }));
}

class FixedOffset final : public TimeZone {
 public:
  explicit FixedOffset(int offset_s) : offset_s_(offset_s) {}
  UtcOffset offset_at(std::int64_t) const override {
    return {INT64_MIN / 2, INT64_MAX / 2, offset_s_};
  }

 private:
  const int offset_s_;
};

// A hardware clock without a battery begins in 1970.
TEST_CASE("BothEndsOfTheCalendarHavePeriodsInEveryZone", "[period]") {
  constexpr std::int64_t kEnd = 253'402'300'799;  // of the year 9999 in UTC
  const int offset_s = GENERATE(-43'200, -18'000, -1, 0, 1, 3'600, 50'400);
  const char* const word = GENERATE("year", "month", "week", "day", "hour");
  const auto rule = *PeriodRule::make(word, std::make_shared<FixedOffset>(offset_s));
  for (const std::int64_t at : {std::int64_t{0}, kEnd}) {
    const Period period = rule->at(at);
    CHECK_FALSE(period.name.empty());
    CHECK(rule->named(period.name).has_value());
  }
}

TEST_CASE("KeyHoldsThePeriodWhereThePatternSaysSo", "[period]") {
  const Period day = rule_of("%y%m%d")->at(kEvening);
  CHECK(period_key("", "orders", day) == "orders@261122");
  CHECK(period_key("{period}", "orders", day) == "261122");
  CHECK(period_key("a-{period}-b", "orders", day) == "a-261122-b");
}

TEST_CASE("NameOfAPeriodsSequenceIsTakenApart", "[period]") {
  CHECK(period_sequence("orders", "2026-11-22") == "orders@2026-11-22");
  CHECK(base_of("orders@2026-11-22") == "orders");
  CHECK(period_of("orders@2026-11-22") == "2026-11-22");
  CHECK(base_of("orders") == "orders");
  CHECK(period_of("orders").empty());
}

}  // namespace
}  // namespace seqd
