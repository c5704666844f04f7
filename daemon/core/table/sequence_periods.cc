// The part of sequence_table.h that keeps the sequences with periods: which of them is the present
// one, and what becomes of those whose period is over.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/names/forgotten_periods.h"
#include "daemon/core/names/kept_periods.h"
#include "daemon/core/table/sequence_table.h"

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

// How long before it begins a period may be advanced: a later one is taken for a typing error. The
// period behind the present one is never too far ahead.
constexpr std::int64_t kMostAheadS = 32 * 86'400;

std::int64_t wall_s(const CoreContext& context) {
  return context.clock.wall_ms() / 1'000;
}

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
  if (sequence.stop() != Stop::unconfigured) return std::nullopt;
  const std::optional<Period> named = period_in_utc(period_of(sequence.name()));
  if (!named) return std::nullopt;
  return Place{named->begin_s, named->end_s, kMostOffsetS};
}

// Those of later periods are not over: the clock was set back, and they will come again.
bool is_over(const Sequence& sequence, std::int64_t now_s) {
  const PeriodSettings& periods = sequence.settings().periods;
  const std::optional<Place> place = place_of(sequence);
  if (!place || place->end_s + place->unsure_s + kGraceS > now_s) return false;
  return !periods.current || periods.rule->at(now_s).name != periods.current->name;
}

// Whether it has a remainder, and no request waits for it.
bool leaves_with_its_period(const Sequence& sequence) {
  if (!sequence.is_configured()) return !sequence.holds_nothing();
  const bool has_any = sequence.available() > 0 || sequence.out() > 0;
  return has_any && sequence.waiting() == 0;
}

}  // namespace

void SequenceTable::know_periods(std::string_view name, const SequenceSettings& settings) {
  const bool has_rule = settings.periods.rule != nullptr;
  if (has_rule) names_.periods().set_rule(base_of(name), settings.periods.rule);
  // A period may be left of which the configuration knows nothing any more.
  if (!period_timer_.running() && (has_rule || !period_of(name).empty())) look_for_ends();
}

Result<SequenceId> SequenceTable::open_period(const std::string& base,
                                              const SequenceSettings& settings,
                                              std::optional<UserId> user) {
  ASSERT(settings.periods.rule != nullptr && !settings.periods.current);
  const PeriodRule& rule = *settings.periods.rule;
  const Period now = rule.at(wall_s(context_));
  const std::string name = period_sequence(base, now.name);
  SequenceId id = find(name);
  // Where this host has leased, the high-water mark knows a counter that was removed.
  if ((id == 0 || at(id).high_water() == 0) && is_known(base)) {
    Status removed = check_kept(now, define_name(base), settings.periods);
    if (!removed.ok()) return removed;
  }
  if (id == 0) {
    const Result<SequenceId> opened = open(name, user);
    if (!opened.ok()) return opened;
    id = *opened;
  }
  ASSERT(sequences_.contains(id));
  if (is_known(base))
    names_.note_begun(define_name(base).name, at(id).settings().periods, wall_s(context_));
  know_periods(base, settings);
  names_.periods().set(base, now, id);
  return id;
}

Status SequenceTable::check_not_removed(SequenceId sequence) const {
  const Sequence& asked = at(sequence);
  ASSERT(asked.high_water() == 0);
  return seqd::check_not_removed(asked.name(), asked.settings().periods,
                                 names_.find(base_of(asked.name())), wall_s(context_));
}

Result<SequenceId> SequenceTable::open_to_advance(std::string_view name) {
  const std::string base(base_of(name));
  const SequenceSettings* const settings = settings_.find(base);
  const PeriodRule* const rule = settings == nullptr ? nullptr : settings->periods.rule.get();
  if (rule == nullptr) return open(name);
  const Period now = rule->at(wall_s(context_));
  if (period_of(name).empty() || period_of(name) == now.name) {
    if (is_known(base)) names_.set_back(define_name(base).name, now.begin_s);
    return open(period_sequence(base, now.name));
  }
  const std::optional<Period> period = rule->named(period_of(name));
  if (period && period->begin_s > std::max(now.end_s, wall_s(context_) + kMostAheadS)) {
    return Status(ErrorCode::BAD_REQUEST,
                  "the period " + period->name + " begins more than 32 days from now, which is " +
                      now.name + "; a period can be advanced from 32 days before it begins");
  }
  return open(name);
}

// Whether it has a sequence: no other name may have an entry, see StateBounds::kNameBytes.
bool SequenceTable::is_known(std::string_view base) const {
  return names_.find(base) != nullptr || sequences_.find_any_period(base) != nullptr;
}

const DefineName& SequenceTable::define_name(std::string_view base) {
  return names_.define(base, sequences_.find(base) != nullptr);
}

SequenceId SequenceTable::find_period(std::string_view base) const {
  const PeriodRule* const rule = names_.periods().rule_of(base);
  if (rule == nullptr) return 0;
  const Sequence* const found =
      sequences_.find(period_sequence(base, rule->at(wall_s(context_)).name));
  return found == nullptr ? 0 : found->id();
}

bool SequenceTable::is_present_period(std::string_view name) const {
  const PeriodRule* rule = names_.periods().rule_of(base_of(name));
  if (rule == nullptr) {  // no ID of it was asked for yet
    const SequenceSettings* const settings = settings_.find(std::string(base_of(name)));
    if (settings != nullptr) rule = settings->periods.rule.get();
  }
  return rule != nullptr && rule->at(wall_s(context_)).name == period_of(name);
}

void SequenceTable::record_purge(std::string_view base, std::function<void()> done) {
  ASSERT(is_known(base));
  context_.log.append(define_name(base));
  when_durable(0, std::move(done));
}

void SequenceTable::look_for_ends() {
  period_timer_.start(kLookMs, [this] {
    looked_at_.clear();
    look_on();
  });
}

// A part of all in each turn, and only while the log takes what follows from it.
void SequenceTable::look_on() {
  look_for_ends();
  // Who drains everything counts on what there was when he began.
  if (!refusals_.any().ok()) return;
  const bool half_full = 2 * sequences_.size() >= limits_.sequences;
  const std::int64_t over_s = wall_s(context_) - (half_full ? kForgetForRoomAfterS : kForgetAfterS);
  const Sequences::ByName& all = sequences_.by_name();
  auto at = all.upper_bound(looked_at_);
  for (int looks = 0; at != all.end(); ++looks) {
    if (looks == kLooksATurn || !context_.log.accepting()) {
      period_timer_.start(kLookOnMs, [this] { look_on(); });
      return;
    }
    looked_at_ = at->first;
    Sequence& sequence = *at->second;
    ++at;
    const bool over = is_over(sequence, wall_s(context_));
    if (over) sequence.period_over();
    if (over && leaves_with_its_period(sequence) && sequence.scope().check_claimed().ok()) {
      if (sequence.is_configured()) {
        sequence.end_period();
      } else {
        static_cast<void>(sequence.give_up("the period is over, and its counter is not configured",
                                           GapCause::period_end));
      }
    } else if (may_be_forgotten(sequence, over_s)) {
      forget(sequence);
    }
  }
}

bool SequenceTable::is_settled(const Sequence& sequence) const {
  const SequenceId id = sequence.id();
  const auto waits = [id](const AwaitingFlush& one) { return one.sequence == id; };
  return sequence.holds_nothing() && sequence.waiting() == 0 && !sequence.in_flight() &&
         !sequence.draining().active() && !replays_.keeps(id) &&
         std::find(touched_.begin(), touched_.end(), &sequence) == touched_.end() &&
         std::none_of(awaiting_.begin(), awaiting_.end(), waits);
}

// The newest period of a sequence always stays.
bool SequenceTable::may_be_forgotten(const Sequence& sequence, std::int64_t over_s) const {
  const std::optional<Place> place = place_of(sequence);
  if (!place || place->end_s + place->unsure_s > over_s) return false;
  const DefineName* const known = names_.find(base_of(sequence.name()));
  return known != nullptr && place->begin_s + place->unsure_s < known->newest_s &&
         is_settled(sequence);
}

// Of a period that was over long ago its name remains, with what is known of it; of a sequence
// without periods nothing, unless other sequences have the name.
void SequenceTable::forget(Sequence& sequence) {
  const SequenceId id = sequence.id();
  const std::string base(base_of(sequence.name()));
  const bool is_period = base != sequence.name();
  ASSERT(sequence.holds_nothing() && sequence.waiting() == 0 && !replays_.keeps(id));
  if (is_period) {
    const std::optional<Place> found = place_of(sequence);
    ASSERT(found);
    const Place place = *found;
    names_.add_forgotten_period(base, {place.begin_s - place.unsure_s, place.end_s + place.unsure_s,
                                       sequence.high_water()});
  }
  context_.log.append(ForgetSequence{id});
  budgets_.forgotten(sequence.definition());
  accounts_.forgotten(sequence);
  sequences_.remove(sequence);
  if (is_period || sequences_.find_any_period(base) != nullptr) return;
  for (const std::string& form : names_.forget(base)) budgets_.form_forgotten(form);
}

}  // namespace seqd
