// Daily: a world whose sequence "orders" has a period of a day. For the tests of sequences per
// period. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/unit/orders.h"

namespace seqd {

inline constexpr std::int64_t kHourMs = 3'600'000;
inline constexpr std::int64_t kDayMs = 24 * kHourMs;
inline constexpr const char* kFirst = "orders@2023-11-14";  // the world begins at 22:13 UTC
inline constexpr const char* kSecond = "orders@2023-11-15";

struct Daily : Orders {
  explicit Daily(const std::function<void(SequenceSettings&)>& change = [](SequenceSettings&) {})
      : Orders([&](SequenceSettings& settings) {
          settings.periods.period = "day";
          settings.periods.rule = PeriodRule::make("day", nullptr).value();
          change(settings);
        }) {}

  // One ID of the present period; 0: none, see world.status.
  std::int64_t one() {
    if (const auto id = world.next("orders")) {
      world.turn();
      return *id;
    }
    if (!world.status.ok()) return 0;
    world.settle();
    const Answer& answer = sent().back();
    return answer.status.ok() ? answer.runs.front().first : 0;
  }
  Sequence* of(const std::string& name) {
    const SequenceId id = world.table->find(name);
    return id == 0 ? nullptr : &world.table->at(id);
  }
  void wait(std::int64_t ms) {
    for (constexpr std::int64_t kStepMs = 20'000; ms > 0; ms -= kStepMs) {
      world.advance(std::min(ms, kStepMs));
      world.settle();
    }
  }
};

}  // namespace seqd
