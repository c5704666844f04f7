// SequenceOrders: what an operator has done to one sequence: its counter is raised, its available
// IDs are released, it is removed. Owned by the SequenceTable; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "daemon/base/lifetime.h"
#include "daemon/core/settings/sequence_settings.h"
#include "daemon/core/stores/scopes.h"
#include "daemon/core/stores/sequences.h"

namespace seqd {

class SequenceOrders {
 public:
  // All of these outlive it.
  struct Around {
    const CoreContext& core;
    const SettingsSource& settings;
    const TableRefusals& refusals;
    Sequences& sequences;
    Scopes& scopes;
  };
  // Forgets a sequence; false: something of it is in use, and nothing was done.
  using Forget = std::function<bool(Sequence&)>;

  SequenceOrders(const Around& around, Forget forget)
      : around_(around), forget_(std::move(forget)) {}

  // Raises its counter: no ID below `next_id` is leased any more; 0: none that was granted here.
  // Answers with its next ID, unless the daemon ends. A stopped sequence continues.
  void advance(SequenceId id, std::int64_t next_id, bool withdraw,
               std::function<void(Result<std::int64_t>)> done);
  // As Drain::begin(). `remove`: of a sequence that is not configured any more, all is a gap.
  Status drain(SequenceId id, std::int64_t timeout_ms, Drain::Done done, bool remove = false);
  // If nothing of it is left. The counter stays in the store. What this host knew of it is gone:
  // how far it leased, and the forms of the texts.
  void remove(SequenceId id, std::function<void(const Status&)> done);

 private:
  const Around around_;
  const Forget forget_;
  Lifetime alive_;
};

}  // namespace seqd
