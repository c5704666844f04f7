// SequenceTable: all sequences of the daemon, the stores' scopes and the replay table: the core as
// the layers above see it. It fills itself from a StateImage, gives the log its snapshots, and
// spreads what the log reports.
//
// One loop turn: any number of calls, then end_turn(), then RemainderLog::commit(), then the
// replies may leave. Of sequences only those are removed whose period was over long ago and of
// which nothing can be asked any more; who keeps a SequenceId for later has to see whether it is
// still there. Loop thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/core/current_periods.h"
#include "daemon/core/replay_table.h"
#include "daemon/core/sequence.h"
#include "daemon/core/store_scope.h"

namespace seqd {

class SequenceTable final : public RemainderLogObserver,
                            public SnapshotSource,
                            private SequenceOwner,
                            private StoreScope::Owner {
 public:
  struct Limits {
    std::size_t sequences = 10'000;
    ReplayTable::Limits replays;
  };
  // The stores of the configuration by name. They outlive the table.
  using Stores = std::map<std::string, LeaseStore*>;

  SequenceTable(const CoreContext& context, const SettingsSource& settings, Stores stores,
                const Limits& limits);
  ~SequenceTable() override;

  // Takes over what recovery found, and begins to claim the stores. Once, before anything else.
  void restore(const StateImage& image);

  // The sequence of that name, of one with periods that of the present one; made if it is not there
  // and the configuration allows. NO_SEQUENCE, BUSY.
  Result<SequenceId> open(std::string_view name);
  SequenceId find(std::string_view name) const;  // without making it; 0: it is not there
  bool is_there(SequenceId id) const { return sequences_[id] != nullptr; }
  Sequence& at(SequenceId id) { return *sequences_[id]; }
  const Sequence& at(SequenceId id) const { return *sequences_[id]; }
  // How texts of that name are written and read, in use or not; null: not at all.
  std::shared_ptr<const IdFormat> format_of(std::string_view name) const;
  std::vector<const Sequence*> list() const;  // in the order of their names
  ReplayTable& replays() { return replays_; }
  const std::map<ScopeId, std::unique_ptr<StoreScope>>& scopes() const { return scopes_; }
  const StoreScope* scope_of_store(std::string_view store) const;

  void cancel(SessionId session);  // it is gone: what it waits for is dropped
  // Puts everything issued so far in this turn into the replay table, so that a repeat finds it.
  void flush_issues();
  // Decides everything that this turn left to decide. Afterwards the log may be committed.
  void end_turn();

  // The SettingsSource gives new ones. Returns the sequences whose change of store or counter
  // cannot be applied while running.
  std::vector<std::string> apply_settings(const Limits& limits);

  // Raises the sequence's counter in the store so that no ID below `next_id` is leased any more; 0:
  // above all that this host was ever granted. Answers with the counter's next ID, once, never
  // before it returned. Ranges in hand stay, unless `withdraw`: see AdvanceRequest. A sequence that
  // was stopped because its counter went back goes on. Not answered when the daemon ends before.
  void advance(SequenceId id, std::int64_t next_id, bool withdraw,
               std::function<void(Result<std::int64_t>)> done);
  // Asks the store for the floor of the sequence's counter, and withdraws what is in hand below it.
  void look_at_floor(SequenceId id, std::function<void(const Status&)> done);

  // Takes everything that the sequence has in hand out of hand and gives it back, as its option
  // `reuse` says; see Drain::begin(). An error: it cannot be drained now, and nothing is changed.
  Status drain(SequenceId id, std::int64_t timeout_ms, Drain::Done done);

  // Requests for IDs hear `why`, but for repeats; no lease is begun, what is under way goes on. OK:
  // they are served again.
  void refuse_requests(const Status& why);

  // The daemon ends. First begin_stop(): those who wait hear `why`. When settled() (no lease in
  // flight), or when waiting longer makes no sense, leave_clean(): after the next commit and flush
  // the daemon may exit.
  void begin_stop(const Status& why);
  bool settled() const;
  bool leave_clean();  // whether anything was recorded that has to become durable first

  std::int64_t waiting() const;

  // RemainderLogObserver
  void durable(LogPosition position) override;
  void flush_failed(const Status& status) override;
  // SnapshotSource
  void snapshot(const std::function<void(const LogEntry&)>& entry) const override;

 private:
  void touched(SequenceId sequence) override;
  void wait_durable(SequenceId sequence) override;
  void recorded(const Issued& issue) override;
  void scope_appended(ScopeId scope) override;
  void scope_owned(ScopeId scope) override;
  void scope_lost(ScopeId scope) override;

  StoreScope& scope_for(const std::string& store);
  StoreScope& add_scope(DefineScope definition);
  Sequence& add_sequence(const DefineSequence& definition, const SequenceSettings& settings);
  void restore_sequence(const SequenceImage& image);
  Status check_drainable(const Sequence& sequence) const;
  // In sequence_periods.cc.
  void know_periods(std::string_view name, const SequenceSettings& settings);
  Result<SequenceId> open_period(const std::string& base, const SequenceSettings& settings);
  SequenceId find_period(std::string_view base) const;
  void look_for_ends();
  void forget_ended();
  bool is_settled(const Sequence& sequence) const;
  std::int64_t guard_of_new(std::string_view name, const SequenceSettings& settings) const;

  struct AwaitingFlush {
    LogPosition position = 0;
    SequenceId sequence = 0;  // 0: the scope below
    ScopeId scope = 0;
  };

  const CoreContext context_;
  const SettingsSource& settings_;
  const Stores stores_;
  Limits limits_;

  ReplayTable replays_;
  std::map<ScopeId, std::unique_ptr<StoreScope>> scopes_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // by id; [0] and numbers never used are null
  std::map<std::string, SequenceId, std::less<>> by_name_;
  CurrentPeriods periods_;
  TimerId period_timer_ = 0;
  NextNumbers next_;
  Status ending_;    // the daemon ends: why; no sequence is made any more
  Status refusing_;  // requests are refused: why; the same
  std::vector<SequenceId> touched_;
  std::vector<SequenceId> pumped_;  // those of the turn that ends; kept for its memory
  std::deque<AwaitingFlush> awaiting_;
};

}  // namespace seqd
