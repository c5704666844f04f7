// LeaseFigures: how the leases of one store ended since the daemon started, and how long the store
// took to answer them. Counted by MeasuredStore. A value; loop thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/base/time/duration_histogram.h"

namespace seqd {

// What the store answered to a lease, and to the look-up of one whose outcome was unknown.
enum class LeaseResult : std::uint8_t {
  granted,
  refused,      // nothing was applied
  contended,    // the same, because other hosts were faster
  unknown,      // it may have been applied: a look-up follows
  found,        // a look-up found that it had been applied
  absent,       // a look-up found that it had not
  untraceable,  // it will never be known: a gap of unknown place
};
constexpr std::size_t kLeaseResults = 7;

// As it stands in a label: "granted".
constexpr std::string_view lease_result_word(LeaseResult result) {
  constexpr std::array<std::string_view, kLeaseResults> kWords = {
      "granted", "refused", "contended", "unknown", "found", "absent", "untraceable"};
  return kWords.at(static_cast<std::size_t>(result));
}

struct LeaseFigures {
  std::array<std::uint64_t, kLeaseResults> ended{};  // by LeaseResult
  DurationHistogram durations;  // of leases, from the request to the answer, whatever it is

  void count(LeaseResult result) { ++ended.at(static_cast<std::size_t>(result)); }
};

}  // namespace seqd
