#include <ctime>
#include <utility>

#include "tests/seeds/old_code.h"

namespace seqd::seeds {
namespace {

constexpr int kDayS = 86'400;

// 22 November 2026 is 261122, by the clock on the wall.
std::int64_t prefix_of(std::time_t second) {
  std::tm day{};
  localtime_r(&second, &day);
  return (day.tm_year % 100 * 100LL + day.tm_mon + 1) * 100 + day.tm_mday;
}

CounterPlace place_of(std::int64_t prefix) {
  return {"ids", std::to_string(prefix), "count", "prefix", true};
}

}  // namespace

DailyIds::DailyIds(const Database& database, int keep_days, IssueLog& log)
    : database_(database), keep_days_(keep_days), log_(log) {
  make_unique(database.client, database.name, "ids", "prefix");
}

std::optional<std::int64_t> DailyIds::next() {
  const std::lock_guard lock(mutex_);
  const std::time_t now = std::time(nullptr);
  if (const std::int64_t prefix = prefix_of(now); prefix != prefix_) {
    prefix_ = prefix;
    counter_ = std::make_unique<CounterDocument>(database_.client, database_.name, place_of(prefix),
                                                 Written::int32);
    remove_below(database_.client, database_.name, "ids", "prefix",
                 prefix_of(now - std::time_t{keep_days_} * kDayS));
  }
  log_.ask();
  Moved moved = counter_->add(1, true);
  while (moved.kind == Moved::Kind::duplicate) {
    log_.failed();
    log_.ask();
    moved = counter_->add(1, true);
  }
  if (moved.kind != Moved::Kind::moved) {
    log_.failed();
    return std::nullopt;
  }
  const std::int64_t id = prefix_ * kCounts + moved.number;
  log_.block(id, id + 1);
  log_.id(id);
  return id;
}

}  // namespace seqd::seeds
