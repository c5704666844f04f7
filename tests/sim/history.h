// History: the last events of a simulation, and the end of it when something is wrong: then they
// are printed, with the seed that makes it happen again, and the process ends with 1. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/unit/virtual_time.h"

namespace seqd::sim {

class History {
 public:
  History(std::uint64_t seed, bool verbose, const VirtualTime& time)
      : seed_(seed), verbose_(verbose), time_(time) {}

  // An event begins; what is noted from here on belongs to it.
  void begin_event() { ++events_; }
  std::uint64_t events() const { return events_; }

  // `what` lives for ever. `who`: number of a daemon or client; the rest as `what` needs it.
  void note(const char* what, std::int64_t who, std::int64_t first = 0, std::int64_t second = 0);
  void print() const;
  // A promise is broken.
  [[noreturn]] void violation(const std::string& what) const;

 private:
  struct Note {
    std::uint64_t event = 0;
    std::int64_t time_ms = 0;
    const char* what = nullptr;
    std::int64_t who = 0;
    std::int64_t first = 0;
    std::int64_t second = 0;
  };
  static void print(const Note& note);

  const std::uint64_t seed_;
  const bool verbose_;
  const VirtualTime& time_;
  std::uint64_t events_ = 0;
  std::uint64_t notes_ = 0;
  std::array<Note, 64> last_{};
};

}  // namespace seqd::sim
