#include "daemon/core/names/kept_periods.h"

#include <string>

namespace seqd {
namespace {

bool may_be_removed(const Period& period, std::int64_t at_s, const PeriodSettings& settings) {
  return settings.retain_ms != 0 && period.end_s + settings.retain_ms / 1'000 <= at_s;
}

}  // namespace

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

Status check_not_removed(std::string_view name, const PeriodSettings& settings,
                         const DefineName* known, std::int64_t now_s) {
  if (!settings.current || settings.rule == nullptr) return {};
  if (known != nullptr) {
    const Status kept = check_kept(*settings.current, *known, settings);
    if (!kept.ok()) return kept;
  }
  if (!may_be_removed(*settings.current, now_s, settings)) return {};
  return {ErrorCode::SEQ_REGRESSED,
          "the period " + settings.current->name + " of \"" + std::string(name) +
              "\" ended so long ago that its counter may have been removed "
              "(sequence.period_retention); take an ID of the present period"};
}

}  // namespace seqd
