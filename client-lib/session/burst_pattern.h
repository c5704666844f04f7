// BurstPattern: how many answers may wait for the next request to carry their acknowledgement, by
// whether the last burst of requests was followed by another one at once. A value; one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/acknowledging.h"

namespace seqd::engine {

class BurstPattern {
 public:
  // Of a burst, where bursts follow each other.
  static constexpr std::size_t kLeftToNext = 16;

  std::size_t left_to_next() const {
    return follows_at_once_ ? kLeftToNext : protocol::kAcknowledgeEvery;
  }
  // All requests are answered, and they were more than are left to the next request anyhow.
  void rests(std::int64_t now_ms) {
    if (rest_since_ms_ < 0) rest_since_ms_ = now_ms;
  }
  void requests(std::int64_t now_ms) {
    if (rest_since_ms_ < 0) return;
    follows_at_once_ = now_ms - rest_since_ms_ <= 1;
    rest_since_ms_ = -1;
  }

 private:
  std::int64_t rest_since_ms_ = -1;  // -1: there are requests
  bool follows_at_once_ = false;     // the last request did, on the end of a rest
};

}  // namespace seqd::engine
