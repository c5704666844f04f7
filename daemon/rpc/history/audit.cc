#include "daemon/rpc/history/audit.h"

namespace seqd {
namespace {

void compare(const char* what, std::int64_t rows, std::int64_t dropped, std::int64_t recorded,
             std::vector<std::string>& problems) {
  if (rows + dropped == recorded) return;
  problems.push_back("the history has lost rows: " + std::to_string(recorded) + " IDs " + what +
                     " were recorded, " + std::to_string(rows) + " remain and " +
                     std::to_string(dropped) + " were dropped as too old");
}

void missing(const char* what, std::int64_t count, std::vector<std::string>& problems) {
  if (count == 0) return;
  problems.push_back("the log and the history differ by " + std::to_string(count) + " " + what);
}

void check_history(const AuditFacts& facts, Audit& audit) {
  const SumsAnswer& history = facts.history;
  const auto left = [](std::int64_t log, std::int64_t recorded, std::int64_t adjust) {
    return log - recorded - adjust;
  };
  const SequenceTotals& recorded = history.recorded;
  const SequenceTotals& adjust = history.adjust;
  audit.missing = {facts.totals.sequence,
                   left(facts.totals.leased, recorded.leased, adjust.leased),
                   left(facts.totals.issued, recorded.issued, adjust.issued),
                   left(facts.totals.returned, recorded.returned, adjust.returned),
                   left(facts.totals.gaps, recorded.gaps, adjust.gaps),
                   left(facts.totals.unknown, recorded.unknown, adjust.unknown)};
  missing("leased IDs", audit.missing.leased, audit.problems);
  missing("issued IDs", audit.missing.issued, audit.problems);
  missing("returned IDs", audit.missing.returned, audit.problems);
  missing("IDs in gaps", audit.missing.gaps, audit.problems);
  missing("leases that cannot be traced", audit.missing.unknown, audit.problems);
  const SequenceTotals& rows = history.rows;
  const SequenceTotals& dropped = history.dropped;
  compare("leased", rows.leased, dropped.leased, recorded.leased, audit.problems);
  compare("issued", rows.issued, dropped.issued, recorded.issued, audit.problems);
  compare("in gaps", rows.gaps, dropped.gaps, recorded.gaps, audit.problems);
  if (history.issued_twice > 0) {
    audit.problems.push_back(std::to_string(history.issued_twice) +
                             " IDs are in the history as issued twice");
  }
}

}  // namespace

Audit audit(const AuditFacts& facts) {
  Audit audit;
  const SequenceTotals& totals = facts.totals;
  audit.unaccounted = totals.leased - totals.issued - facts.available - facts.out -
                      facts.returning - totals.returned - totals.gaps;
  if (audit.unaccounted != 0) {
    audit.problems.push_back(std::to_string(audit.unaccounted) +
                             " IDs are not accounted for by the log");
  }
  // A history without the sequence has not begun; then there is nothing to compare.
  if (facts.history.known) check_history(facts, audit);
  const auto id = [&facts](std::int64_t position) {
    return std::to_string(to_external_near(facts.progression.get(), position));
  };
  const bool removed = facts.counter && !facts.counter->exists && facts.may_be_removed;
  if (facts.counter && !removed && facts.high_water > 0 &&
      facts.counter->next_id < facts.high_water) {
    audit.problems.push_back(
        facts.counter->exists
            ? "the store's next ID is " + id(facts.counter->next_id) +
                  ", but this host was granted IDs up to " + id(facts.high_water - 1) +
                  ": the counter was set back"
            : "the counter is missing from the store, but this host was granted IDs up to " +
                  id(facts.high_water - 1));
  }
  if (facts.counter && facts.counter->totals) {
    const CounterReading::Totals& counted = *facts.counter->totals;
    const std::int64_t parked = facts.counter->parked.ids;
    if (counted.all.ids + parked > facts.counter->next_id - counted.since) {
      audit.problems.push_back("the store has leased " + std::to_string(counted.all.ids) +
                               " IDs and parked " + std::to_string(parked) +
                               ", more than lie between " + id(counted.since) +
                               " and its counter: it was set back");
    }
  }
  return audit;
}

}  // namespace seqd
