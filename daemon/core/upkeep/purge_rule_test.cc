// Which counters may be removed: keys that a sequence writes are read back, others are not, and no
// period that is in use or kept is ever chosen.
#include "daemon/core/upkeep/purge_rule.h"

#include <rapidcheck.h>

#include <array>
#include <limits>

#include "tests/unit/one_summer.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kEvening = 1'795'372'200;  // 2026-11-22 18:30 UTC, a Sunday
// From 2001 to 2098: two digits tell no other years.
constexpr std::int64_t kFrom = 978'307'200 + 7 * kDayS;
constexpr std::int64_t kTo = 4'102'444'800 - 400 * kDayS;

SequenceSettings settings_of(const std::string& period, const std::string& key = "",
                             KeyType type = KeyType::text, bool summer = false) {
  SequenceSettings settings;
  settings.binding.key = key;
  settings.binding.key_type = type;
  settings.periods.period = period;
  auto rule = PeriodRule::make(period, summer ? std::make_shared<OneSummer>() : nullptr);
  if (!rule.ok()) throw std::runtime_error(rule.status().text());
  settings.periods.rule = *rule;
  return settings;
}

constexpr std::array kPeriods = {"year", "month",    "week",  "day",  "hour",     "%y%m%d",
                                 "%Y%j", "%G%V%u",   "%g-%V", "%y%m", "%d.%m.%y", "%Y%m%d%H",
                                 "%j%y", "%H%d%m%Y", "FY%Y",  "%Y"};

bool is_rule(const std::string& period) {
  return PeriodRule::make(period, nullptr).ok();
}

std::string stored_key(const SequenceSettings& settings, const Period& period) {
  return plain_key(settings.binding.key_type, period_key(settings.binding.key, "orders", period));
}

TEST_CASE("KeyIsReadAsThePeriodThatWritesIt", "[period]") {
  CHECK(rc::check([] {
    const std::string format =
        *rc::gen::elementOf(std::vector<std::string>(kPeriods.begin(), kPeriods.end()));
    RC_PRE(is_rule(format));
    const std::string key =
        *rc::gen::element<std::string>("", "{period}", "day-{period}", "{period}.x", "00{period}9");
    SequenceSettings settings =
        settings_of(format, key, KeyType::text, *rc::gen::arbitrary<bool>());
    if ((key == "{period}" || key == "00{period}9") && settings.periods.rule->is_number() &&
        *rc::gen::arbitrary<bool>())
      settings.binding.key_type = KeyType::integer;
    const std::int64_t moment = *rc::gen::inRange(kFrom, kTo);
    const Period period = settings.periods.rule->at(moment);
    const auto read = period_of_key(settings, "orders", stored_key(settings, period));
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->name == period.name);
    RC_ASSERT(read->text == period.text);
    // An hour that comes twice is one period.
    RC_ASSERT(read->begin_s == period.begin_s && read->end_s == period.end_s);
  }));
}

TEST_CASE("WhatIsReadIsWrittenSoAgain", "[period]") {
  CHECK(rc::check([] {
    const SequenceSettings settings =
        *rc::gen::arbitrary<bool>()
            ? settings_of("%y%m%d", "{period}", KeyType::integer, *rc::gen::arbitrary<bool>())
            : settings_of(*rc::gen::element<std::string>("%y%m%d", "%G%V%u", "%Y%j", "%y%m%d%H"),
                          "{period}", KeyType::text, *rc::gen::arbitrary<bool>());
    const std::string key = *rc::gen::oneOf(
        rc::gen::map(rc::gen::inRange<std::int64_t>(0, 100'000'000),
                     [](std::int64_t number) { return std::to_string(number); }),
        rc::gen::container<std::string>(rc::gen::element('0', '1', '2', '9', ' ', '-', 'x')),
        rc::gen::arbitrary<std::string>());
    const auto period = period_of_key(settings, "orders", key);
    if (period) RC_ASSERT(stored_key(settings, *period) == key);
  }));
}

TEST_CASE("KeysOfOthersAreNotRead", "[period]") {
  const SequenceSettings ids = settings_of("%y%m%d", "{period}", KeyType::integer);
  CHECK(period_of_key(ids, "orders", "261122")->name == "2026-11-22");
  CHECK(period_of_key(ids, "orders", "50101")->name == "2005-01-01");
  CHECK(period_of_key(ids, "orders", "991231")->name == "2099-12-31");
  for (const char* foreign :
       {"", "0", "261131", "260230", "261300", "050101", "2611220", "20261122", "-61122", "+61122",
        " 61122", "26112", "2.61122", "261122 ", "9223372036854775807"}) {
    CAPTURE(foreign);
    CHECK_FALSE(period_of_key(ids, "orders", foreign).has_value());
  }
  const SequenceSettings named = settings_of("day");
  CHECK(period_of_key(named, "orders", "orders@2026-11-22").has_value());
  for (const char* foreign :
       {"orders", "orders@", "orders@2026-11-2", "orders@2026-11-31", "order@2026-11-22",
        "orders@2026-11-22 ", "orders@2026-11-22@", "xorders@2026-11-22", "orders@2026-W47",
        "people@2026-11-22", "orders.2026-11-22"}) {
    CAPTURE(foreign);
    CHECK_FALSE(period_of_key(named, "orders", foreign).has_value());
  }
  const SequenceSettings around = settings_of("week", "a{period}b");
  CHECK(period_of_key(around, "orders", "a2026-W47b").has_value());
  for (const char* foreign : {"a2026-W54b", "a2026-W00b", "2026-W47b", "a2026-W47", "ab"}) {
    CAPTURE(foreign);
    CHECK_FALSE(period_of_key(around, "orders", foreign).has_value());
  }
  // Week 53 is one of 2026, not of 2027; two digits of the year do not say that at once.
  CHECK(period_of_key(settings_of("%g%V"), "a", "a@2653").has_value());
  CHECK_FALSE(period_of_key(settings_of("%g%V"), "a", "a@2753").has_value());
}

TEST_CASE("AnHourThatDoesNotExistIsNoPeriod", "[period]") {
  const SequenceSettings hours = settings_of("%Y%m%d%H", "{period}", KeyType::text, true);
  CHECK(period_of_key(hours, "a", "2026032901").has_value());
  CHECK_FALSE(period_of_key(hours, "a", "2026032902").has_value());
  CHECK(period_of_key(hours, "a", "2026032903").has_value());
  const auto twice = period_of_key(hours, "a", "2026102502");
  REQUIRE(twice.has_value());
  CHECK(twice->end_s - twice->begin_s == 7'200);
}

TEST_CASE("APeriodMayBeRemovedWhenItEndedLongBeforeThePresentOne", "[period]") {
  SequenceSettings days = settings_of("%y%m%d", "{period}");
  days.periods.retain_ms = 400 * kDayS * 1'000;
  const auto may = [&](const char* key, std::int64_t now_s) {
    return may_be_removed(days.periods, *period_of_key(days, "a", key), now_s);
  };
  // 400 days before 2026-11-22 began, 2025-10-18 began.
  CHECK(may("251017", kEvening));
  CHECK_FALSE(may("251018", kEvening));
  CHECK_FALSE(may("261122", kEvening));
  CHECK_FALSE(may("991231", kEvening));
  CHECK_FALSE(may("251017", kEvening - kDayS));
  days.periods.retain_ms += 1;
  CHECK_FALSE(may("251017", kEvening));
  days.periods.retain_ms = 0;
  CHECK_FALSE(may("000101", kEvening));
}

TEST_CASE("NoPeriodInUseOrKeptMayEverBeRemoved", "[period]") {
  std::int64_t removed = 0;
  CHECK(rc::check([&] {
    const std::string format =
        *rc::gen::elementOf(std::vector<std::string>(kPeriods.begin(), kPeriods.end()));
    RC_PRE(is_rule(format));
    SequenceSettings settings =
        settings_of(format, "{period}", KeyType::text, *rc::gen::arbitrary<bool>());
    const std::int64_t retain_s = *rc::gen::inRange<std::int64_t>(2 * kDayS, 800 * kDayS);
    settings.periods.retain_ms = retain_s * 1'000 - *rc::gen::inRange(0, 1'000);
    const std::int64_t now_s = *rc::gen::inRange(kFrom, kTo);
    const std::int64_t then_s = *rc::gen::inRange(std::max(kFrom, now_s - 4 * retain_s),
                                                  std::min(kTo, now_s + 4 * retain_s));
    const PeriodRule& rule = *settings.periods.rule;
    const Period now = rule.at(now_s);
    const auto period = period_of_key(settings, "a", rule.at(then_s).text);
    RC_ASSERT(period.has_value());
    if (!may_be_removed(settings.periods, *period, now_s)) {
      RC_ASSERT(period->end_s + retain_s > now.begin_s);
      return;
    }
    ++removed;
    RC_ASSERT(period->name != now.name);
    RC_ASSERT(period->end_s + settings.periods.retain_ms / 1'000 <= now_s);
    // Not in any moment of the present period, and so not by a clock that is a little behind.
    RC_ASSERT(period->end_s + settings.periods.retain_ms / 1'000 <= now.begin_s);
  }));
  CHECK(removed > 0);
}

}  // namespace
}  // namespace seqd
