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
  for (const char* name :
       {"Europe/Berln", "", "../../etc/passwd", "/etc/passwd", "europe/berlin\n", "posixrules/x"}) {
    const auto found = find_time_zone(name);
    REQUIRE(!found.ok());
    CHECK(found.status().code() == ErrorCode::CONFIG);
    CHECK(found.status().text().find("allowed: UTC, or the name of a zone") != std::string::npos);
  }
}
