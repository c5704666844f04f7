// The part of sequence_table.h that keeps the sequences with periods: which of them is the present
// one, and what becomes of those whose period is over.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/names/forgotten_periods.h"
#include "daemon/core/names/id_form.h"
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

// Whether the counter of `period` may have been removed at that time: creating it again would issue
// its IDs again.
bool may_be_removed(const Period& period, std::int64_t at_s, const PeriodSettings& settings) {
  return settings.retain_ms != 0 && period.end_s + settings.retain_ms / 1'000 <= at_s;
}

Status check_kept(const Period& period, const DefineName& known, const PeriodSettings& settings) {
  if (!may_be_removed(period, known.newest_s, settings)) return {};
  return {ErrorCode::SEQ_REGRESSED,
          "the clock shows the period " + period.name + " of \"" + known.name + "\", but " +
              settings.rule->at(known.newest_s).name +
              " was in use here already, and counters that old may have been removed "
              "(sequence.period_retention): set the clock; if it was ahead then and is correct "
              "now, confirm it with: seqctl advance " +
              known.name};
}

}  // namespace

void SequenceTable::know_periods(std::string_view name, const SequenceSettings& settings) {
  const bool has_rule = settings.periods.rule != nullptr;
  if (has_rule) periods_.set_rule(base_of(name), settings.periods.rule);
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
    Status removed = check_kept(now, know_name(base), settings.periods);
    if (!removed.ok()) return removed;
  }
  if (id == 0) {
    const Result<SequenceId> opened = open(name, user);
    if (!opened.ok()) return opened;
    id = *opened;
  }
  ASSERT(is_there(id));
  if (is_known(base)) note_begun(know_name(base), at(id).settings().periods);
  know_periods(base, settings);
  periods_.set(base, now, id);
  return id;
}

// The period was the present one when it was opened; its first lease may have waited long; in a
// suspended host even without a request for a later period.
Status SequenceTable::check_not_removed(SequenceId sequence) const {
  const Sequence& asked = at(sequence);
  ASSERT(asked.high_water() == 0);
  const PeriodSettings& periods = asked.settings().periods;
  if (!periods.current || periods.rule == nullptr) return {};
  const auto known = names_.find(base_of(asked.name()));
  if (known != names_.end()) {
    const Status kept = check_kept(*periods.current, known->second, periods);
    if (!kept.ok()) return kept;
  }
  if (!may_be_removed(*periods.current, wall_s(context_), periods)) return {};
  return {ErrorCode::SEQ_REGRESSED,
          "the period " + periods.current->name + " of \"" + asked.name() +
              "\" ended so long ago that its counter may have been removed "
              "(sequence.period_retention); take an ID of the present period"};
}

Result<SequenceId> SequenceTable::open_to_advance(std::string_view name) {
  const std::string base(base_of(name));
  const SequenceSettings* const settings = settings_.find(base);
  const PeriodRule* const rule = settings == nullptr ? nullptr : settings->periods.rule.get();
  if (rule == nullptr) return open(name);
  const Period now = rule->at(wall_s(context_));
  if (period_of(name).empty() || period_of(name) == now.name) {
    DefineName* const known = is_known(base) ? &know_name(base) : nullptr;
    if (known != nullptr && known->newest_s > now.begin_s) {
      known->newest_s = now.begin_s;
      context_.log.append(*known);
    }
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
  return names_.contains(base) || sequences_.find_any_period(base) != nullptr;
}

DefineName* SequenceTable::find_name(std::string_view base) {
  if (const auto found = names_.find(base); found != names_.end()) return &found->second;
  const Sequence* const own = sequences_.find(base);
  if (own == nullptr || !own->notes().plain_name) return nullptr;
  own->notes().plain_name = false;
  DefineName& known = names_[std::string(base)];
  known.name = base;
  return &known;
}

// Most names are those of one sequence, and nothing else is known of them: that is a flag of it.
void SequenceTable::settle_name(std::string_view base) {
  const auto known = names_.find(base);
  const Sequence* const own = sequences_.find(base);
  if (known == names_.end() || own == nullptr) return;
  if (known->second != DefineName{known->first, 0, {}, {}}) return;
  own->notes().plain_name = true;
  names_.erase(known);
}

DefineName& SequenceTable::know_name(std::string_view base) {
  if (DefineName* const found = find_name(base)) return *found;
  DefineName& known = names_[std::string(base)];
  known.name = base;
  context_.log.append(known);
  return known;
}

void SequenceTable::note_begun(DefineName& known, const PeriodSettings& periods) {
  if (!periods.current || periods.current->begin_s <= known.newest_s) return;
  // One that was advanced before it begins is not in use yet, and those before it are.
  if (periods.current->begin_s > wall_s(context_)) return;
  known.newest_s = periods.current->begin_s;
  context_.log.append(known);
}

SequenceId SequenceTable::find_period(std::string_view base) const {
  const PeriodRule* const rule = periods_.rule_of(base);
  if (rule == nullptr) return 0;
  const Sequence* const found =
      sequences_.find(period_sequence(base, rule->at(wall_s(context_)).name));
  return found == nullptr ? 0 : found->id();
}

SequenceId SequenceTable::any_period_of(std::string_view name) const {
  const Sequence* const found = sequences_.find_any_period(base_of(name));
  return found == nullptr ? 0 : found->id();
}

bool SequenceTable::is_present_period(std::string_view name) const {
  const PeriodRule* rule = periods_.rule_of(base_of(name));
  if (rule == nullptr) {  // no ID of it was asked for yet
    const SequenceSettings* const settings = settings_.find(std::string(base_of(name)));
    if (settings != nullptr) rule = settings->periods.rule.get();
  }
  return rule != nullptr && rule->at(wall_s(context_)).name == period_of(name);
}

bool SequenceTable::has_forgotten(std::string_view name) const {
  const auto known = names_.find(base_of(name));
  const PeriodRule* const rule = periods_.rule_of(base_of(name));
  if (known == names_.end() || rule == nullptr || sequences_.find(name) != nullptr) return false;
  const std::optional<Period> period = rule->named(period_of(name));
  return period && high_water_of_forgotten(known->second.forgotten, *period) > 0;
}

void SequenceTable::record_purge(std::string_view base, std::function<void()> done) {
  const DefineName* const known = find_name(base);
  ASSERT(known != nullptr);
  context_.log.append(*known);
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
  const bool half_full = 2 * size() >= limits_.sequences;
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
  const auto known = names_.find(base_of(sequence.name()));
  return known != names_.end() && place->begin_s + place->unsure_s < known->second.newest_s &&
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
    const auto name = names_.find(base);
    ASSERT(found && name != names_.end());
    const Place place = *found;
    DefineName& known = name->second;
    add_forgotten(known.forgotten, {place.begin_s - place.unsure_s, place.end_s + place.unsure_s,
                                    sequence.high_water()});
    context_.log.append(known);
  }
  context_.log.append(ForgetSequence{id});
  budgets_.forgotten(sequence.definition());
  accounts_.forgotten(sequence);
  sequences_.remove(sequence);
  const auto name = names_.find(base);
  if (is_period || name == names_.end() || any_period_of(base) != 0) return;
  for (const std::string& form : name->second.forms) budgets_.form_forgotten(form);
  forms_open_.erase(base);
  names_.erase(name);
}

}  // namespace seqd
