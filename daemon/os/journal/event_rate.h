// EventRate: keeps events that repeat from flooding the journal. An event of the kinds that repeat
// is passed once in ten seconds for each subject (its fields SEQUENCE, STORE, LIMIT, OPTION and
// CLIENT_UID, together); the next one that passes says how many were left out. What matters singly
// (gaps, stops, failures of the state) always passes. Bounded memory, and all subjects are looked
// through once a second at most. Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/base/events.h"

namespace seqd {

class EventRate {
 public:
  static constexpr std::int64_t kInterval_ms = 10'000;
  static constexpr std::int64_t kLook_ms = 1'000;
  static constexpr std::size_t kMaxSubjects = 4'096;

  // Nothing: leave the event out. Else how many like it were left out since the last that passed.
  std::optional<std::int64_t> pass(const Event& event, std::int64_t now_ms);
  // How often all subjects were looked through for room.
  std::int64_t looks() const { return looks_; }

 private:
  struct Seen {
    std::int64_t passed_at_ms = 0;
    std::int64_t left_out = 0;
  };
  void make_room(std::int64_t now_ms);

  std::map<std::pair<EventKind, std::string>, Seen> seen_;
  std::int64_t looked_ms_ = 0;
  std::int64_t looks_ = 0;
};

}  // namespace seqd
