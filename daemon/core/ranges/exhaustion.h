// Exhaustion: how near a sequence is to its end, and to the bounds of common ID types: a 32-bit
// column, JavaScript's numbers. It follows the ends of leases, so it includes IDs of other hosts.
// Each warning is logged once per process. Owned by its Sequence; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "daemon/base/events.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

class Exhaustion {
 public:
  // Taken over at a start: the end of the highest range ever granted, 0 for none. Bounds that were
  // passed in an earlier process are not reported again; the number of IDs left is, once.
  void restore(std::int64_t high_water, const SequenceSettings& settings);

  // A lease up to `end` (exclusive) came at `now_ms`, of a monotonic clock. Raises the warnings
  // that are due.
  void leased(std::int64_t end, std::int64_t now_ms, const std::string& name,
              const SequenceSettings& settings, EventSink& events);

  struct Forecast {
    std::optional<std::int64_t> left;  // IDs the store can lease still; none: not known, or no end
    std::optional<std::int64_t> ms;    // until then, at the rate of the last hour or two
    std::optional<std::int64_t> days;  // the same, rounded down
  };
  Forecast forecast(std::int64_t now_ms, const SequenceSettings& settings) const;
  // Recomputes may_end_soon(); the owner calls it when the settings change.
  void update_forecast(const SequenceSettings& settings);
  // Whether the sequence may be one that ends_soon(), now or later without another lease.
  bool may_end_soon() const { return may_end_soon_; }

 private:
  static constexpr std::int64_t kNever = -1;
  struct Point {
    std::int64_t at_ms = kNever;
    std::int64_t end = 0;
  };
  // Ordinals a day by which the counter moved of late; 0: not known.
  double per_day(std::int64_t now_ms) const;
  bool once(unsigned warning);
  void warn_of_end(std::int64_t now_ms, const std::string& name, const SequenceSettings& settings,
                   EventSink& events);
  void warn_of_bound(std::int64_t bound, const char* holder, bool passed, const std::string& name,
                     const SequenceSettings& settings, EventSink& events) const;

  bool may_end_soon_ = false;   // first: of each turn
  unsigned told_ = 0;           // a bit for each warning
  std::int64_t end_ = 0;        // of the highest lease known
  std::int64_t leased_ms_ = 0;  // when the last one came
  // The rate is measured from `from_`; `middle_` takes its place an hour after it was noted.
  Point from_, middle_;
};

// The rest of a sequence is small: less than a tenth, or it lasts for less than 30 days.
bool ends_soon(const Exhaustion::Forecast& forecast, const SequenceSettings& settings);

}  // namespace seqd
