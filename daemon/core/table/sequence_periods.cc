// The part of sequence_table.h about sequences with periods: which of them is the present one.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/assertion.h"
#include "daemon/core/names/kept_periods.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {
namespace {

// How long before it begins a period may be advanced: a later one is taken for a typing error. The
// period behind the present one is never too far ahead.
constexpr std::int64_t kMostAheadS = 32 * 86'400;

}  // namespace

void SequenceTable::know_periods(std::string_view name, const SequenceSettings& settings) {
  const bool has_rule = settings.periods.rule != nullptr;
  if (has_rule) names_.periods().set_rule(base_of(name), settings.periods.rule);
  // A period may be left of which the configuration knows nothing any more.
  if (has_rule || !period_of(name).empty()) ends_.begin();
}

Result<SequenceId> SequenceTable::open_period(const std::string& base,
                                              const SequenceSettings& settings,
                                              std::optional<UserId> user) {
  ASSERT(settings.periods.rule != nullptr && !settings.periods.current);
  const PeriodRule& rule = *settings.periods.rule;
  const Period now = rule.at(now_s());
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
  if (is_known(base)) names_.note_begun(define_name(base).name, at(id).settings().periods, now_s());
  know_periods(base, settings);
  names_.periods().set(base, now, id);
  return id;
}

Status SequenceTable::check_not_removed(SequenceId sequence) const {
  const Sequence& asked = at(sequence);
  ASSERT(asked.high_water() == 0);
  return seqd::check_not_removed(asked.name(), asked.settings().periods,
                                 names_.find(base_of(asked.name())), now_s());
}

Result<SequenceId> SequenceTable::open_to_advance(std::string_view name) {
  const std::string base(base_of(name));
  const SequenceSettings* const settings = settings_.find(base);
  const PeriodRule* const rule = settings == nullptr ? nullptr : settings->periods.rule.get();
  if (rule == nullptr) return open(name);
  const Period now = rule->at(now_s());
  if (period_of(name).empty() || period_of(name) == now.name) {
    if (is_known(base)) names_.set_back(define_name(base).name, now.begin_s);
    return open(period_sequence(base, now.name));
  }
  const std::optional<Period> period = rule->named(period_of(name));
  if (period && period->begin_s > std::max(now.end_s, now_s() + kMostAheadS)) {
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
  const Sequence* const found = sequences_.find(period_sequence(base, rule->at(now_s()).name));
  return found == nullptr ? 0 : found->id();
}

bool SequenceTable::is_present_period(std::string_view name) const {
  const PeriodRule* rule = names_.periods().rule_of(base_of(name));
  if (rule == nullptr) {  // no ID of it was asked for yet
    const SequenceSettings* const settings = settings_.find(std::string(base_of(name)));
    if (settings != nullptr) rule = settings->periods.rule.get();
  }
  return rule != nullptr && rule->at(now_s()).name == period_of(name);
}

void SequenceTable::record_purge(std::string_view base, std::function<void()> done) {
  ASSERT(is_known(base));
  context_.log.append(define_name(base));
  when_durable(0, std::move(done));
}

}  // namespace seqd
