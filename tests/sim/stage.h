// Stage: what all parts of one simulation share: the time, the dice, the history, the counts and
// the accounts. Everything that happens is an event of the one agenda. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "tests/sim/accounts.h"
#include "tests/sim/counts.h"
#include "tests/sim/floors.h"
#include "tests/sim/history.h"
#include "tests/sim/profile.h"
#include "tests/sim/transcript.h"
#include "tests/unit/seeded_random.h"
#include "tests/unit/virtual_time.h"

namespace seqd::sim {

// What is printed of a world while it runs.
struct Printed {
  bool history = false;
  Transcript::Use transcript = Transcript::Use::none;
};

struct Stage {
  Stage(std::uint64_t seed, const Printed& printed)
      : random(seed),
        history(seed, printed.history, time),
        transcript(printed.transcript),
        accounts(history),
        profile(seed) {}

  // An event `delay_ms` from now.
  TimerId after(std::int64_t delay_ms, std::function<void()> event) {
    return time.schedule(delay_ms, [this, event = std::move(event)] {
      history.begin_event();
      event();
    });
  }
  // The time of day where nobody's clock is wrong.
  std::int64_t wall_ms() const {
    return time.wall_ms() + (profile.wall_speed - 1) * time.monotonic_ms();
  }
  void count(Kind kind) { counts.add(kind); }
  // Counts it, and notes it by its name.
  void happened(Kind kind, std::int64_t who, std::int64_t first = 0, std::int64_t second = 0) {
    counts.add(kind);
    history.note(kKindInfo[static_cast<std::size_t>(kind)].name.data(), who, first, second);
  }

  VirtualTime time;
  SeededRandom random;
  History history;
  Transcript transcript;
  Counts counts;
  Accounts accounts;
  Floors floors;
  const Profile profile;
  bool calm = false;                      // the end is near: nothing fails any more
  std::int64_t clocks_stay_until_ms = 0;  // nobody sets one before
};

}  // namespace seqd::sim
