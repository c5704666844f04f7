// PurgeStore: the interface of a store in which old counters are listed and removed. Asynchronous,
// as LeaseStore: every call answers exactly once on the loop thread, never before it returned. The
// core decides which counters are old: a store reads no dates.
//
// Invariant: a counter is removed only while it still is what was found, in one step with
// everything that belongs to it alone (ranges that are parked).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/core/upkeep/purge_rule.h"
#include "daemon/core/words/counter_binding.h"

namespace seqd {

// Counters in the place of `binding`, whose key is any one of the form, in the order of the keys.
struct CounterQuery {
  CounterBinding binding;
  KeyForm form;
  std::string after;  // only keys behind this one; empty: all
  std::size_t limit = 0;
};

struct FoundCounter {
  std::string key;          // an integer's in digits
  std::int64_t number = 0;  // as it stands in the store
  std::int64_t last = 0;    // the last ID that was issued, by the number; 0: none
  std::string problem;      // why it is no counter that could be leased from; empty: it is one
};

struct CounterPage {
  std::vector<FoundCounter> counters;  // keys may be there that only look like ones of the form
  std::string after;                   // the last key that was looked at
  bool more = false;                   // there may be keys behind it
  bool by_key_alone = false;           // the store has no collections and key fields
  std::optional<std::int64_t>
      clock_s;  // of the server, since 1970; none: it has no clock of its own
};

struct CounterRemoval {
  CounterBinding binding;  // but for the key
  std::vector<FoundCounter> counters;
};

struct RemovalOutcome {
  // changed: it is not what was found any more, and stays.  failed: it stays, or `error` says that
  // it may be gone.
  enum class Kind : std::uint8_t { removed, changed, failed };
  Kind kind = Kind::failed;
  Status error;
};

class PurgeStore {
 public:
  virtual ~PurgeStore() = default;
  virtual void find_counters(const CounterQuery& query,
                             std::function<void(Result<CounterPage>)> done) = 0;
  // One outcome for each counter, in their order, at least one. Those for which there was no time,
  // or that stand behind one that failed, have none.
  virtual void remove_counters(const CounterRemoval& removal,
                               std::function<void(std::vector<RemovalOutcome>)> done) = 0;
};

}  // namespace seqd
