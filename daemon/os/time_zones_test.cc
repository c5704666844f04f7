#include "daemon/os/time_zones.h"

#include <ctime>

#include <catch2/catch.hpp>

using seqd::civil_time;
using seqd::CivilTime;
using seqd::ErrorCode;
using seqd::find_time_zone;
using seqd::UtcOffset;

namespace {

std::shared_ptr<const seqd::TimeZone> zone(const char* name) {
  const auto found = find_time_zone(name);
  REQUIRE(found.ok());
  REQUIRE(*found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("UtcNeedsNoZoneFile") {
  const auto found = find_time_zone("UTC");
  REQUIRE(found.ok());
  CHECK(*found == nullptr);
}

TEST_CASE("OffsetOfBerlinChangesAtTheSecondOfTheSwitch") {
  const auto berlin = zone("Europe/Berlin");
  const std::int64_t spring = 1'774'746'000;  // 2026-03-29 01:00 UTC
  CHECK(berlin->offset_at(spring - 1).offset_s == 3'600);
  CHECK(berlin->offset_at(spring - 1).end_s == spring);
  const UtcOffset summer = berlin->offset_at(spring);
  CHECK(summer.offset_s == 7'200);
  CHECK(summer.begin_s == spring);
  CHECK(summer.end_s == 1'792'890'000);  // 2026-10-25 01:00 UTC
}

TEST_CASE("SummerTimeContinuesAfterTheLastChangeThatAZoneFileLists") {
  struct Case {
    const char* name;
    std::int64_t begin_s, end_s, offset_s;
  };
  const Case cases[] = {
      {"Europe/Berlin", 2'216'250'000, 2'234'998'800, 7'200},       // 2040-03-25 and 2040-10-28
      {"America/New_York", 2'215'062'000, 2'235'621'600, -14'400},  // 2040-03-11 and 2040-11-04
      {"Australia/Sydney", 2'233'152'000, 2'248'876'800, 39'600},   // 2040-10-07 and 2041-04-07
  };
  for (const Case& summer : cases) {
    INFO(summer.name);
    const auto there = zone(summer.name);
    const UtcOffset found = there->offset_at((summer.begin_s + summer.end_s) / 2);
    CHECK(found.begin_s == summer.begin_s);
    CHECK(found.end_s == summer.end_s);
    CHECK(found.offset_s == summer.offset_s);
    CHECK(there->offset_at(summer.begin_s - 1).offset_s == summer.offset_s - 3'600);
    CHECK(there->offset_at(summer.end_s).offset_s == summer.offset_s - 3'600);
  }
}

TEST_CASE("EveryYearToTheLastHasItsSummerTime") {
  const auto berlin = zone("Europe/Berlin");
  for (int year = 1997; year < 10'000; ++year) {
    // The last Sundays of March and October, 01:00 UTC.
    const auto last_sunday = [year](int month) {
      const std::int64_t last = seqd::first_second(year, month, 31);
      return last - civil_time(last).weekday % 7 * 86'400 + 3'600;
    };
    const UtcOffset summer = berlin->offset_at(last_sunday(7));
    if (summer.begin_s != last_sunday(3) || summer.end_s != last_sunday(10) ||
        summer.offset_s != 7'200)
      FAIL(year);
    const UtcOffset winter = berlin->offset_at(summer.end_s);
    if (winter.begin_s != summer.end_s || winter.offset_s != 3'600) FAIL(year);
    if (berlin->offset_at(summer.begin_s - 1).end_s != summer.begin_s) FAIL(year);
  }
  CHECK(zone("Asia/Tokyo")->offset_at(seqd::kLastSecond).offset_s == 32'400);
}

TEST_CASE("ZoneWithOddOffsetIsExact") {
  CHECK(zone("Asia/Kathmandu")->offset_at(1'790'000'000).offset_s == 20'700);
  CHECK(zone("America/St_Johns")->offset_at(1'767'225'600).offset_s == -12'600);
}

TEST_CASE("ZoneLeavesTheTimeOfTheProcessAlone") {
  const auto tokyo = zone("Asia/Tokyo");
  const std::time_t now = 1'790'000'000;
  std::tm before{};
  std::tm after{};
  ::localtime_r(&now, &before);
  const CivilTime there = civil_time(now + tokyo->offset_at(now).offset_s);
  ::localtime_r(&now, &after);
  CHECK(before.tm_hour == after.tm_hour);
  CHECK(there.hour == (civil_time(now).hour + 9) % 24);
}

TEST_CASE("ZoneThatIsNotThereIsRefusedByName") {
  for (const char* name : {"Europe/Berln", "", "../../etc/passwd", "/etc/passwd", "europe/berlin\n",
                           "posixrules/x", "Fixed/UTC+01:00:00", "file:Europe/Berlin"}) {
    const auto found = find_time_zone(name);
    REQUIRE(!found.ok());
    CHECK(found.status().code() == ErrorCode::CONFIG);
    CHECK(found.status().text().find("allowed: UTC, or the name of a zone") != std::string::npos);
  }
}
