#include "daemon/core/table/period_ends.h"

#include <optional>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence_state.h"
#include "daemon/core/text/period.h"

namespace seqd {
namespace {

// How often ended periods are searched, and how long ago they must have ended: after a clock was
// set back a little, the remainder is still available, and waiting requests are served.
constexpr std::int64_t kLookMs = 60'000;
constexpr std::int64_t kGraceS = 60;

// How many sequences are looked at in one turn, and how soon the next ones are.
constexpr int kLooksATurn = 256;
constexpr std::int64_t kLookOnMs = 5;

// How long after its end a sequence is forgotten, if no request for it can be repeated: it can be
// audited by its name so long. Where half of limits.max_sequences are in use room comes first, and
// a clock that is set back a little still finds the sequence with its high-water mark.
constexpr std::int64_t kForgetAfterS = 32 * 86'400;
constexpr std::int64_t kForgetForRoomAfterS = 3'600;

// Seconds since 1970, UTC; each may be earlier or later by `unsure_s`.
struct Place {
  std::int64_t begin_s = 0;
  std::int64_t end_s = 0;
  std::int64_t unsure_s = 0;
};

// The time of a sequence's period. If it is not configured any more, or with another unit, only the
// name determines it. Nothing: it has no period.
std::optional<Place> place_of(const Sequence& sequence) {
  if (const auto& current = sequence.settings().periods.current)
    return Place{current->begin_s, current->end_s, 0};
  if (sequence.stop_cause() != StopCause::unconfigured) return std::nullopt;
  const std::optional<Period> named = period_in_utc(period_of(sequence.name()));
  if (!named) return std::nullopt;
  return Place{named->begin_s, named->end_s, kMostOffsetS};
}

// Those of later periods are not over: the clock was set back, and they will come again.
bool is_over(const Sequence& sequence, const Place& place, std::int64_t now_s) {
  const PeriodSettings& periods = sequence.settings().periods;
  if (place.end_s + place.unsure_s + kGraceS > now_s) return false;
  return !periods.current || periods.rule->at(now_s).name != periods.current->name;
}

// Whether it has a remainder, and no request waits for it.
bool leaves_with_its_period(const Sequence& sequence) {
  if (!is_configured(sequence)) return !holds_nothing(sequence);
  const bool has_any = sequence.available() > 0 || sequence.out() > 0;
  return has_any && sequence.waiters().size() == 0;
}

}  // namespace

void PeriodEnds::schedule() {
  timer_.start(kLookMs, [this] {
    looked_at_.clear();
    look_on();
  });
}

// A part of all in each turn, and only while the log takes what follows from it.
void PeriodEnds::look_on() {
  schedule();
  // A drain of everything counts on what there was when it began.
  if (!around_.refusals.any().ok()) return;
  const bool half_full = 2 * around_.sequences.size() >= around_.limits.sequences;
  const std::int64_t forgotten_before_s =
      around_.core.clock.wall_ms() / 1'000 - (half_full ? kForgetForRoomAfterS : kForgetAfterS);
  const Sequences::ByName& all = around_.sequences.by_name();
  auto at = all.upper_bound(looked_at_);
  for (int looks = 0; at != all.end(); ++looks) {
    if (looks == kLooksATurn || !around_.core.log.accepting()) {
      timer_.start(kLookOnMs, [this] { look_on(); });
      return;
    }
    looked_at_ = at->first;
    Sequence& sequence = *at->second;
    ++at;
    look_at(sequence, forgotten_before_s);
  }
}

void PeriodEnds::look_at(Sequence& sequence, std::int64_t forgotten_before_s) {
  const std::optional<Place> place = place_of(sequence);
  if (!place) return;
  const bool over = is_over(sequence, *place, around_.core.clock.wall_ms() / 1'000);
  if (over) sequence.period_over();
  if (over && leaves_with_its_period(sequence) && sequence.scope().check_claimed().ok()) {
    if (is_configured(sequence)) {
      sequence.end_period();
    } else {
      static_cast<void>(sequence.give_up("the period is over, and its counter is not configured",
                                         GapCause::period_end));
    }
    return;
  }
  if (place->end_s + place->unsure_s > forgotten_before_s) return;
  // The newest period of a sequence always stays.
  const DefineName* const known = around_.names.find(base_of(sequence.name()));
  if (known == nullptr || place->begin_s + place->unsure_s >= known->newest_s) return;
  forget_(sequence, {place->begin_s - place->unsure_s, place->end_s + place->unsure_s,
                     sequence.definition().leased_below()});
}

}  // namespace seqd
