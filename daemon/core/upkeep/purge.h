// Purge: removes the counters of a sequence's periods that ended longer than `period_retention`
// ago, a page per request. One page is in progress at a
// time. Owned by the daemon; loop thread.
//
// Invariant: a counter is removed only if its period may be (purge_rule.h) by this host's clock and
// by the store server's, nothing of it is available here, and no other sequence that this host
// knows has it. Before the store removes anything, the log has on its medium that this host purges
// and which period it uses, so it never begins a removed period again, even after a power loss.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/lifetime.h"
#include "daemon/core/settings/named_sequence.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/core/upkeep/purge_store.h"

namespace seqd {

struct PurgeOrder {
  std::string name;     // of the sequence, without a period
  bool remove = false;  // otherwise it is only looked
  std::string after;    // as PurgeReport says; empty: from the first key on
  UserId user = 0;
  std::int32_t process = 0;
};

struct PurgeReport {
  struct Counter {
    Period period;
    std::string key;
    std::int64_t last = 0;  // position of the last ID; 0: none was issued
    bool removed = false;
    std::string why;  // it stays; empty: it does not have to
  };
  std::vector<Counter> counters;  // those whose time is over, by one of the clocks at least
  std::string after;              // where the next page begins, if any
  bool more = false;
  std::shared_ptr<const IdProgression> progression;  // of the IDs; null: they are the ordinals
};

class Purge {
 public:
  // The stores of the configuration by name; null: one that has no keys in order. They outlive
  // this.
  using Stores = std::map<std::string, PurgeStore*>;
  using NamedSequences = std::function<std::vector<NamedSequence>()>;
  using Done = std::function<void(const Result<PurgeReport>&)>;

  static constexpr std::size_t kMostFound = 1'000;  // keys of a page
  static constexpr std::size_t kMostRemoved = 100;  // counters of a page, when they are removed

  Purge(const CoreContext& context, SequenceTable& table, const SettingsSource& settings,
        Stores stores, NamedSequences named);
  Purge(const Purge&) = delete;
  Purge& operator=(const Purge&) = delete;

  // `done` is called once, in a later turn. An error: nothing was begun.
  Status begin(const PurgeOrder& order, Done done);

 private:
  Status prepare();
  void found(const Result<CounterPage>& page);
  // Whether the configuration still says what chose the counters.
  bool is_as_it_began() const;
  void remove();
  void removed(const std::vector<RemovalOutcome>& outcomes);
  std::string clock_reason(const Period& period, std::optional<std::int64_t> there_s,
                           std::int64_t here_s) const;
  // Why a counter stays that this host still has something of; empty: it has nothing.
  std::string use_here(const Period& period) const;
  void raise_removed() const;
  void finish(const Result<PurgeReport>& report);

  const CoreContext context_;
  SequenceTable& table_;
  const SettingsSource& settings_source_;
  const Stores stores_;
  const NamedSequences named_;

  // Of the one under way.
  bool busy_ = false;
  PurgeOrder order_;
  SequenceSettings settings_;  // as they were when it began
  PurgeStore* store_ = nullptr;
  Done done_;
  PurgeReport report_;
  CounterRemoval removal_;
  std::vector<std::size_t> chosen_;  // of report_.counters, those of removal_
  Lifetime alive_;
};

}  // namespace seqd
