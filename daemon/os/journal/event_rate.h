// EventRate: keeps events that repeat from flooding the journal. An event of the kinds that repeat
// is passed once in ten seconds for each subject (its fields SEQUENCE, STORE, LIMIT, OPTION and
// CLIENT_UID, together); the next one that passes says how many were left out. Of one kind 256
// subjects are tracked at a time; further ones share one entry. Events that matter individually
// (gaps, stops, failures of the state) always pass. Memory and time of an event are bounded. Loop
// thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/base/events.h"

namespace seqd {

class EventRate {
 public:
  static constexpr std::int64_t kInterval_ms = 10'000;
  static constexpr std::size_t kMaxSubjects = 256;  // of one kind

  // Nothing: leave the event out. Else how many like it were left out since the last that passed.
  std::optional<std::int64_t> pass(const Event& event, std::int64_t now_ms);

 private:
  struct Subject {
    std::string text;
    std::optional<std::int64_t> passed_at_ms;
    std::int64_t left_out = 0;
  };
  using Subjects = std::list<Subject>;
  struct Kind {
    Subjects by_age;  // the one that passed longest ago is the first
    std::unordered_map<std::string_view, Subjects::iterator> by_text;
    Subject others;  // all beyond kMaxSubjects
  };
  static Subject& find(Kind& kind, std::string text, std::int64_t now_ms);

  std::map<EventKind, Kind> kinds_;
};

}  // namespace seqd
