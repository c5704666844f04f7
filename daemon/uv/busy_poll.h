// BusyPoll: reads from the connections that sent something last without a system call for which of
// them is ready, and without sleeping, for a time after each request (daemon.busy_poll). A caller
// on another CPU receives its reply without the wake-up of this process; the price is one CPU, as
// long as requests come and for that time after the last.
//
// The loop polls everything else once a slice, so that nothing else waits longer. Loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace seqd {

class BusyPoll {
 public:
  class Source {
   public:
    virtual ~Source() = default;
    // Takes in what has arrived, without waiting. False: nothing, or it is for the loop to see.
    virtual bool take_arrived() = 0;
  };
  enum class Found : std::uint8_t {
    input,       // the turn ends now; look again after it
    everything,  // the slice is over: the loop polls everything, without sleeping
    nothing,     // for too long: the loop may sleep
  };

  // Polled in one round; for more connections, the poll of the loop is cheaper.
  static constexpr std::size_t kMostSources = 8;
  static constexpr std::uint64_t kSliceNs = 100'000;

  // Nanoseconds of a clock that never goes back.
  explicit BusyPoll(std::function<std::uint64_t()> now_ns) : now_ns_(std::move(now_ns)) {}

  // How long after a request; 0: not at all.
  void set_limit(std::int64_t limit_ms);
  bool enabled() const { return limit_ns_ > 0; }

  // A request came from it: it is looked at until that time is over, forget() comes, or requests
  // came later from others.
  void had_request(Source& source) {
    if (enabled()) keep(source);
  }
  void forget(const Source& source);
  // Before the loop sleeps, and after each turn whose input came from here.
  Found look();

 private:
  struct Recent {
    Source* source = nullptr;
    std::uint64_t request = 0;   // its last one, counted over all sources
    bool fresh = true;           // that came since the last look at the clock
    std::uint64_t until_ns = 0;  // when the time after it is over
  };

  void keep(Source& source);
  void drop_rested(std::uint64_t now_ns);
  bool take_from_all();
  Found pause(Found found);

  std::function<std::uint64_t()> now_ns_;
  std::uint64_t limit_ns_ = 0;
  std::vector<Recent> recent_;  // at most kMostSources
  std::uint64_t requests_ = 0;
  std::uint64_t slice_ns_ = 0;  // when the slice is over; 0: none has begun
};

}  // namespace seqd
