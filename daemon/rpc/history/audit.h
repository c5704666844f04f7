// The conservation sum of one sequence: leased = issued + available + out in blocks + being
// returned + returned + gaps, from the log's totals, against the history's own sums, and against
// the store. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/history/history_answers.h"
#include "daemon/core/leasing/lease_store.h"
#include "daemon/rpc/external.h"

namespace seqd {

struct AuditFacts {
  SequenceTotals totals;  // of the core, which are the log's
  std::int64_t available = 0;
  std::int64_t out = 0;  // in blocks
  std::int64_t returning = 0;
  std::int64_t high_water = 0;
  Progression progression;
  SumsAnswer history;
  std::optional<CounterReading> counter;
  Status store;                 // why there is none
  bool forgotten = false;       // the daemon has it no more: the sums are the history's
  bool may_be_removed = false;  // of a period that is over for so long that its counter may be gone
};

struct Audit {
  std::int64_t unaccounted = 0;       // by the log; 0 when all is well
  SequenceTotals missing;             // in the log, but not in the history
  std::vector<std::string> problems;  // sentences about what does not agree
};

Audit audit(const AuditFacts& facts);

}  // namespace seqd
