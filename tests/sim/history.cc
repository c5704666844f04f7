#include "tests/sim/history.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace seqd::sim {

void History::note(const char* what, std::int64_t who, std::int64_t first, std::int64_t second) {
  Note& note = last_[notes_++ % last_.size()];
  note = {events_, time_.monotonic_ms(), what, who, first, second};
  if (verbose_) print(note);
}

void History::print(const Note& note) {
  std::printf("%9llu %9lld ms  %3lld  %s", static_cast<unsigned long long>(note.event),
              static_cast<long long>(note.time_ms), static_cast<long long>(note.who), note.what);
  if (note.first != 0 || note.second != 0) {
    std::printf(" %lld", static_cast<long long>(note.first));
  }
  if (note.second != 0) std::printf(" %lld", static_cast<long long>(note.second));
  std::printf("\n");
}

void History::print() const {
  const std::uint64_t count = std::min<std::uint64_t>(notes_, last_.size());
  std::printf("the last events (event, time, who, what):\n");
  for (std::uint64_t at = notes_ - count; at < notes_; ++at) print(last_[at % last_.size()]);
}

void History::violation(const std::string& what) const {
  if (!verbose_) print();
  std::printf("sim: VIOLATION with seed %llu at event %llu: %s\n",
              static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(events_),
              what.c_str());
  std::printf("sim: again with: make sim SEED=%llu\n", static_cast<unsigned long long>(seed_));
  std::fflush(stdout);
  std::_Exit(1);
}

}  // namespace seqd::sim
