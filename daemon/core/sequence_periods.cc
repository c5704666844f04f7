// The part of sequence_table.h that keeps the sequences with periods: which of them is the present
// one, and what becomes of those whose period is over.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/sequence_table.h"

namespace seqd {
namespace {

// How often it is looked which periods are over, and how long ago that has to be: a clock that is
// set back a little finds the remainder still in hand, and who waits is served.
constexpr std::int64_t kLookMs = 60'000;
constexpr std::int64_t kGraceS = 60;

// How long after its end a sequence may be forgotten, so that hours do not fill the table: longer
// than any client's requests can be repeated.
constexpr std::int64_t kForgetAfterS = 32 * 86'400;

std::int64_t wall_s(const CoreContext& context) {
  return context.clock.wall_ms() / 1'000;
}

// Those of later periods are not over: the clock was set back, and they will come again.
bool is_over(const Sequence& sequence, std::int64_t now_s) {
  const PeriodSettings& periods = sequence.settings().periods;
  if (!periods.current || periods.rule == nullptr) return false;
  return periods.current->end_s + kGraceS <= now_s &&
         periods.rule->at(now_s).name != periods.current->name;
}

// Of those that are known here; none: none is.
std::optional<Period> newest_period(const std::map<std::string, SequenceId, std::less<>>& by_name,
                                    std::string_view base, const PeriodRule& rule) {
  std::optional<Period> newest;
  for (auto at = by_name.lower_bound(std::string(base) + "@"); at != by_name.end(); ++at) {
    if (base_of(at->first) != base) break;
    const std::optional<Period> used = rule.named(period_of(at->first));
    if (used && (!newest || used->begin_s > newest->begin_s)) newest = used;
  }
  return newest;
}

// The counter of a period that was over for longer than counters are kept may have been removed:
// whoever made it anew would issue its IDs again.
Status check_not_removed(const std::string& base, const Period& period,
                         const std::optional<Period>& newest, std::int64_t retain_ms) {
  if (retain_ms == 0 || !newest) return {};
  if (period.end_s + retain_ms / 1'000 > newest->begin_s) return {};
  return {ErrorCode::SEQ_REGRESSED,
          "the clock shows the period " + period.name + " of \"" + base + "\", but " +
              newest->name +
              " was in use here already, and counters that old may have "
              "been removed (sequence.retain): set the clock; if it was "
              "wrong then and is right now, retain = \"0s\" lets it pass"};
}

}  // namespace

void SequenceTable::know_periods(std::string_view name, const SequenceSettings& settings) {
  if (settings.periods.rule == nullptr) return;
  periods_.set_rule(base_of(name), settings.periods.rule);
  if (period_timer_ == 0) look_for_ends();
}

Result<SequenceId> SequenceTable::open_period(const std::string& base,
                                              const SequenceSettings& settings) {
  const PeriodRule& rule = *settings.periods.rule;
  const Period now = rule.at(wall_s(context_));
  const std::string name = period_sequence(base, now.name);
  SequenceId id = find(name);
  // Where this host has leased, the guard knows a counter that was removed.
  if (id == 0 || at(id).guard() == 0) {
    Status removed = check_not_removed(base, now, newest_period(by_name_, base, rule),
                                       settings.periods.retain_ms);
    if (!removed.ok()) return removed;
  }
  if (id == 0) {
    const Result<SequenceId> opened = open(name);
    if (!opened.ok()) return opened;
    id = *opened;
  }
  know_periods(base, settings);
  periods_.set(base, now, id);
  return id;
}

// A period that may have been forgotten was perhaps used here: its counter is there, and is not to
// be made anew.
std::int64_t SequenceTable::guard_of_new(std::string_view name,
                                         const SequenceSettings& settings) const {
  const PeriodSettings& periods = settings.periods;
  if (!periods.current || periods.rule == nullptr) return 0;
  const std::optional<Period> newest = newest_period(by_name_, base_of(name), *periods.rule);
  return newest && periods.current->end_s + kForgetAfterS <= newest->begin_s ? 1 : 0;
}

SequenceId SequenceTable::find_period(std::string_view base) const {
  const PeriodRule* const rule = periods_.rule_of(base);
  if (rule == nullptr) return 0;
  const auto found = by_name_.find(period_sequence(base, rule->at(wall_s(context_)).name));
  return found == by_name_.end() ? 0 : found->second;
}

void SequenceTable::look_for_ends() {
  period_timer_ = context_.timers.schedule(kLookMs, [this] {
    look_for_ends();
    for (const auto& [name, id] : by_name_) {
      Sequence& sequence = *sequences_[id];
      if (sequence.in_hand() == 0 || sequence.waiting() > 0) continue;
      if (is_over(sequence, wall_s(context_)) && check_drainable(sequence).ok())
        sequence.end_period();
    }
    forget_ended();
  });
}

bool SequenceTable::is_settled(const Sequence& sequence) const {
  const SequenceId id = sequence.id();
  const auto waits = [id](const AwaitingFlush& one) { return one.sequence == id; };
  return sequence.empty_handed() && sequence.waiting() == 0 && !sequence.in_flight() &&
         std::find(touched_.begin(), touched_.end(), id) == touched_.end() &&
         std::none_of(awaiting_.begin(), awaiting_.end(), waits) && !replays_.keeps(id);
}

// The newest period of a sequence always stays: it tells which ones may be begun.
void SequenceTable::forget_ended() {
  const std::int64_t now_s = wall_s(context_);
  std::map<std::string, std::int64_t, std::less<>> newest;  // by base: when its newest one began
  std::vector<const Sequence*> ended;
  for (const auto& [name, id] : by_name_) {
    const PeriodSettings& periods = sequences_[id]->settings().periods;
    if (!periods.current) continue;
    std::int64_t& begin_s = newest.try_emplace(std::string(base_of(name)), 0).first->second;
    begin_s = std::max(begin_s, periods.current->begin_s);
    if (periods.current->end_s + kForgetAfterS <= now_s) ended.push_back(sequences_[id].get());
  }
  for (const Sequence* sequence : ended) {
    const std::int64_t end_s = sequence->settings().periods.current->end_s;
    if (end_s + kForgetAfterS > newest.find(base_of(sequence->name()))->second ||
        !is_settled(*sequence))
      continue;
    const SequenceId id = sequence->id();
    context_.log.append(ForgetSequence{id});
    by_name_.erase(sequence->name());
    sequences_[id].reset();
  }
}

}  // namespace seqd
