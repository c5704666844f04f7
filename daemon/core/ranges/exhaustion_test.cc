#include "daemon/core/ranges/exhaustion.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr std::int64_t kHighest32 = 2'147'483'647;

struct Watched final : EventSink {
  void raise(const Event& event) override { texts.push_back(event.text); }
  // What was said since the last call.
  std::vector<std::string> leased(std::int64_t end, std::int64_t at_ms = 0) {
    texts.clear();
    exhaustion.leased(end, at_ms, "orders", settings, *this);
    return texts;
  }
  void restart(std::int64_t high_water) {
    exhaustion = Exhaustion();
    exhaustion.restore(high_water, settings);
  }
  Exhaustion exhaustion;
  SequenceSettings settings;
  std::vector<std::string> texts;
};

bool has(const std::vector<std::string>& texts, const std::string& part) {
  return texts.size() == 1 && texts[0].find(part) != std::string::npos;
}

TEST_CASE("BoundIsReportedOnceWhenNearAndOnceWhenPassed", "[exhaustion]") {
  Watched watched;
  CHECK(watched.leased(1'000).empty());
  CHECK(has(watched.leased(kHighest32 / 10 * 9 + 2), "nine tenths of the way to 2147483647"));
  CHECK(watched.leased(kHighest32).empty());
  CHECK(watched.leased(kHighest32 + 1).empty());  // the last of its IDs fits
  CHECK(has(watched.leased(kHighest32 + 2), "leased up to 2147483648, beyond 2147483647"));
  CHECK(watched.leased(kHighest32 + 3).empty());
  watched.settings.max_value = 9'100'000'000'000'000;
  CHECK(has(watched.leased(8'106'479'329'266'893), "nine tenths of the way to 9007199254740991"));
}

TEST_CASE("BoundPassedInAnEarlierProcessIsNotReportedAgain", "[exhaustion]") {
  Watched watched;
  watched.restart(kHighest32 + 50);
  CHECK(watched.leased(kHighest32 + 60).empty());
  watched.restart(kHighest32 - 50);
  CHECK(has(watched.leased(kHighest32 - 40), "nine tenths"));
  CHECK(has(watched.leased(kHighest32 + 60), "beyond 2147483647"));
}

TEST_CASE("BoundJumpedOverIsReportedAsPassedOnly", "[exhaustion]") {
  Watched watched;
  CHECK(has(watched.leased(kHighest32 + 1'000), "beyond 2147483647"));
}

TEST_CASE("LittleLeftIsReportedAt90And99PercentOncePerProcess", "[exhaustion]") {
  Watched watched;
  watched.settings.binding.first_id = 1'001;
  watched.settings.max_value = 2'000;
  CHECK(watched.leased(1'901).size() == 1);  // 900 of 1,000
  CHECK(watched.leased(1'950).empty());
  CHECK(has(watched.leased(1'991), "has 10 IDs left to be leased, 1 % or less"));
  CHECK(watched.leased(2'001).empty());
  watched.restart(2'001);
  CHECK(has(watched.leased(2'001), "has 0 IDs left"));
  CHECK(watched.leased(2'001).empty());
  watched.settings.binding.first_id = 1;
  watched.restart(1'000);
  CHECK(watched.leased(1'790).empty());
}

TEST_CASE("ProgressionIsReportedByItsValues", "[exhaustion]") {
  Watched watched;
  const auto progression = [&watched](const IdProgression::Form& form) {
    watched.exhaustion = Exhaustion();
    watched.settings.progression.compiled = std::make_shared<IdProgression>(form);
  };
  progression({0, -1'000'000, -9'000'000'000, 0, false});
  CHECK(has(watched.leased(2'149), "leased up to -2147000000, nine tenths"));
  CHECK(has(watched.leased(2'150), "leased up to -2148000000, beyond"));
  progression({-5, -1, -2'147'483'648, -1, false});
  CHECK(watched.leased(100).empty());
  CHECK(watched.leased(2'147'483'645).size() == 2);  // the bound fits, only the end is near
  progression({1, 1, 1, 10, true});
  CHECK(watched.leased(1'000'000).empty());
  CHECK_FALSE(watched.exhaustion.forecast(0, watched.settings).left);
}

TEST_CASE("DaysAreForecastAtTheRateOfTheLastHours", "[exhaustion]") {
  Watched watched;
  watched.settings.max_value = 1'000'000;
  CHECK_FALSE(watched.exhaustion.forecast(0, watched.settings).left);
  watched.leased(1, 0);
  CHECK(watched.exhaustion.forecast(10, watched.settings).left == 1'000'000);
  CHECK_FALSE(watched.exhaustion.forecast(kHourMs, watched.settings).days);
  watched.leased(1'001, kHourMs);  // 24,000 a day
  CHECK(watched.exhaustion.forecast(kHourMs, watched.settings).days == 41);
  CHECK_FALSE(ends_soon(watched.exhaustion.forecast(kHourMs, watched.settings), watched.settings));
  for (std::int64_t hour = 2; hour <= 10; ++hour) watched.leased(1 + hour * 10'000, hour * kHourMs);
  const auto fast = watched.exhaustion.forecast(10 * kHourMs, watched.settings);
  CHECK(fast.days == 3);  // 240,000 a day: what was slow is forgotten
  CHECK(ends_soon(fast, watched.settings));
  const auto idle = watched.exhaustion.forecast(10 * kDayMs, watched.settings);
  CHECK((idle.days > 100 && !ends_soon(idle, watched.settings)));
}

TEST_CASE("AnEndThatIsNearInTimeIsReportedOnce", "[exhaustion]") {
  Watched watched;
  watched.settings.max_value = 1'000'000;
  watched.leased(1, 0);
  CHECK(watched.leased(1'001, kHourMs).empty());  // 24,000 a day: 41 days
  CHECK_FALSE(watched.exhaustion.may_end_soon());
  CHECK(has(watched.leased(20'001, 2 * kHourMs), "days at the present rate"));
  CHECK(ends_soon(watched.exhaustion.forecast(2 * kHourMs, watched.settings), watched.settings));
  CHECK(watched.exhaustion.may_end_soon());
  CHECK(watched.leased(40'001, 3 * kHourMs).empty());
  CHECK(has(watched.leased(900'002, 4 * kHourMs), "10 % or less"));
}

TEST_CASE("SequenceTellsOfItsLeases", "[exhaustion]") {
  CoreWorld world;
  world.settings.add("orders").max_value = 20;
  world.start();
  world.settle();
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(world.next("orders"));
    world.settle();
  }
  CHECK(world.events.count(EventKind::sequence_ends) == 1);
  CHECK(world.sequence("orders")
            .exhaustion()
            .forecast(5'000, world.settings.by_name["orders"])
            .left == 0);
}

}  // namespace
}  // namespace seqd
