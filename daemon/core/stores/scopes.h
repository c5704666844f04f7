// Scopes: of each store the scope with the context of its sequences, and what happens to these
// together: their ranges are owned or lost, their store is refused, or put back and used again.
// Reads the floors of their counters, too. A scope stays until the daemon ends. Owned by the
// SequenceTable; loop thread.
//
// Which sequences are of a scope is not kept a second time: most daemons have one store, and all
// sequences are its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/lifetime.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/sequence/sequence_owner.h"
#include "daemon/core/stores/floor_looks.h"
#include "daemon/core/stores/sequences.h"

namespace seqd {

class Scopes final : private StoreScope::Owner {
 public:
  using Stores = std::map<std::string, LeaseStore*>;  // by name

  // All of these outlive it.
  struct Around {
    const CoreContext& core;
    SequenceOwner& table;
    Sequences& sequences;
    SequenceBudgets& budgets;
    const TableRefusals& refusals;
  };
  Scopes(const Around& around, Stores stores);

  // What the log has of them; then start(), when the sequences are there.
  void restore(const StateImage& image);
  void start();

  StoreScope& at(ScopeId id) { return rows_.at(id).scope; }
  const SequenceContext& context_of(ScopeId id) const { return rows_.at(id).context; }
  // That of the store; made where there is none.
  StoreScope& of_store(const std::string& store);
  // Null: there is none.
  const StoreScope* find(std::string_view store) const;
  std::vector<const StoreScope*> all() const;
  // Null: it is not running.
  LeaseStore* store(const std::string& name) const;

  // Compares and raises the heartbeats; regularly.
  void beat();
  // See MeasuredStore::silent_ms(); regularly.
  void note_silence(std::string_view store, std::int64_t ms);
  // An operator has put the store back, and all counters are raised.
  void note_raised(std::string_view store);
  // Uses a store again that was put back, with gaps. SEQ_REGRESSED: not raised; UNAVAILABLE: later.
  Status resume(std::string_view store);

  // Reads the counter's floor, and withdraws what is below it; after a restore: see note_raised().
  // The sequence has a store.
  void read_floor(SequenceId id, std::function<void(const Status&)> done);
  // Requests wait until it is read: Sequence::looked() follows.
  void look(SequenceId id);

  // The daemon ends; see StoreScope.
  void stop();
  bool settled() const;
  // Whether something was recorded.
  bool leave_clean();

  ScopeId next() const { return next_; }
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;

 private:
  struct Row {
    Row(const Around& around, StoreScope::Owner& owner, const DefineScope& definition,
        StoreScope::Known known, LeaseStore* store)
        : scope(around.core, owner, definition, std::move(known), store),
          context{around.core, around.table, scope, around.budgets, around.refusals} {}

    StoreScope scope;
    SequenceContext context;
  };

  // StoreScope::Owner
  void when_durable(std::function<void()> then) override;
  void scope_owned(ScopeId id) override;
  void scope_failed(ScopeId id) override;
  void scope_moves(ScopeId id) override;
  bool scope_holds(ScopeId id) const override;
  void scope_refused(ScopeId id, const Status& why) override;
  bool scope_lost(ScopeId id) override;

  StoreScope& add(const DefineScope& definition, StoreScope::Known known);
  StoreScope* find_restored(std::string_view store);
  void end_look(SequenceId id, bool over);

  const Around around_;
  Sequences& sequences_;
  const Stores stores_;
  std::map<ScopeId, Row> rows_;
  ScopeId next_ = 1;
  FloorLooks looks_{around_.core, [this](SequenceId id) { end_look(id, true); }};
  Lifetime alive_;
};

}  // namespace seqd
