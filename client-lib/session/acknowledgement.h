// Acknowledgement: when a session acknowledges the answers that have arrived (PROTOCOL.md, section
// 5): often enough for the daemon's memory, and before its window closes, which it counts from the
// last acknowledgement that it has seen. Owned by a Session; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "client-lib/session/burst_pattern.h"
#include "protocol/acknowledging.h"

namespace seqd::engine {

class Acknowledgement {
 public:
  // Request numbers that a daemon keeps for retries, if its hello names no limit.
  static constexpr std::int64_t kAssumedWindow = 1'024;

  void disconnected() { bursts_ = BurstPattern(); }
  // The daemon answered hello. If it does not have this identity, or an older floor of it, the
  // floor must be sent first: otherwise the next numbers may be outside of its window.
  void ready(std::int64_t window) {
    window_ = window;
    said_ = 1;
    request_at_next();
  }
  // Request numbers that the daemon remembers behind the last acknowledgement, at least.
  std::int64_t window() const { return window_; }

  void answered() { ++answered_; }
  void request_at_next() { answered_ = protocol::kAcknowledgeEvery; }
  void requests(std::int64_t now_ms) { bursts_.requests(now_ms); }

  // Whether it is due before the request of that number.
  bool is_due_at(std::uint32_t number) const {
    return answered_ >= protocol::kAcknowledgeEvery || number - said_ >= half_window();
  }
  // How many requests follow at most, from `number` on, until it is due again, if none is answered.
  std::int64_t next_after(std::uint32_t number) const {
    const std::int64_t left = half_window() - (number - said_);
    return left > 0 ? left : window_;
  }
  // Whether more has arrived than is left to the next request in any case.
  bool is_owed(std::uint32_t floor) const { return floor - said_ > protocol::kAcknowledgeEvery; }
  // Whether it is due though no request follows now, perhaps for hours. As many answers as wait for
  // the next request otherwise are left to it, so that requests made one at a time cost no packet
  // more; and of a burst, where bursts follow each other. `all`: no request waits for its answer.
  bool is_due_at_rest(std::uint32_t floor, bool all, std::int64_t now_ms) {
    if (!is_owed(floor)) return false;
    if (all) bursts_.rests(now_ms);
    return floor - said_ > bursts_.left_to_next();
  }
  // False: the daemon knows it.
  bool say(std::uint32_t floor) {
    if (floor == said_) return false;
    said_ = floor;
    answered_ = 0;
    return true;
  }

 private:
  std::int64_t half_window() const { return std::min(window_, kAssumedWindow) / 2; }

  std::int64_t window_ = kAssumedWindow;
  std::uint32_t said_ = 0;    // on this connection: everything below has arrived
  std::size_t answered_ = 0;  // since then
  BurstPattern bursts_;
};

}  // namespace seqd::engine
