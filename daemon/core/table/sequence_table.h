// SequenceTable: all sequences, the stores' scopes and the replay table: the core as the layers
// above see it. It is filled from a StateImage, and gives the log its snapshots.
// One loop turn: any number of calls, end_turn(), RemainderLog::commit(), then replies may leave.
// Sequences of a period that was over long ago are removed: a SequenceId may be gone. Loop thread.
#pragma once

#include <map>
#include <unordered_map>

#include "daemon/base/one_shot.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/names/current_periods.h"
#include "daemon/core/names/known_names.h"
#include "daemon/core/sequence/sequence.h"
#include "daemon/core/table/awaiting_flush.h"
#include "daemon/core/table/floor_looks.h"
#include "daemon/core/table/sequence_accounts.h"
#include "daemon/core/table/shared_settings.h"
#include "daemon/core/table/table_limits.h"

namespace seqd {

class SequenceTable final : public RemainderLogObserver,
                            public SnapshotSource,
                            private SequenceOwner,
                            private StoreScope::Owner {
 public:
  using Stores = std::map<std::string, LeaseStore*>;  // by name; they outlive the table

  // `pages` may be null: then there are no blocks.
  SequenceTable(const CoreContext& context, const SettingsSource& settings, Stores stores,
                const TableLimits& limits, BlockPages* pages = nullptr);
  void restore(const StateImage& image);  // what recovery found; once, before anything else
  // That of the name, or of its present period; made if there is room for it. NO_SEQUENCE, BUSY.
  Result<SequenceId> open(std::string_view name, std::optional<UserId> user = {});
  // The same for an advance: by one of the present period an operator confirms that the clock is
  // correct, and was not when later periods were begun. BAD_REQUEST: the period is too far ahead.
  Result<SequenceId> open_to_advance(std::string_view name);
  SequenceId find(std::string_view name) const;  // without making it; 0: it is not there
  Sequence* find_kept(std::string_view name);    // null: not asked for lately
  void keep(Sequence& sequence) { known_.keep(sequence, by_name_.size()); }
  bool is_there(SequenceId s) const { return s == last_.first ? s > 0 : sequences_.contains(s); }
  // Any sequence of the same base name: its periods share progression and rule. 0: none.
  SequenceId any_period_of(std::string_view name) const;
  bool has_forgotten(std::string_view name) const;      // it is a period that was used here
  bool is_present_period(std::string_view name) const;  // "NAME@PERIOD", whence NAME issues now
  Sequence& at(SequenceId id) { return id != 0 && id == last_.first ? *last_.second : look_up(id); }
  const Sequence& at(SequenceId id) const { return *sequences_.at(id); }
  // The format and the rights of that name, in use or not; or null.
  std::shared_ptr<const IdFormat> format_of(std::string_view name) const;
  const AccessSettings* access_of(std::string_view name) const;
  Result<std::optional<TextForm>> admit_text(SequenceId id) override;
  // Whether a text of it, in the form of today, cannot be that of another ID. SEQ_CHANGED, CONFIG.
  Status check_text(SequenceId id) const;
  Status check_repeat(const Issued& issue) const;  // whether today's format writes it; SEQ_CHANGED
  // In the order of their names: all, and at most so many of those behind the name `after`.
  std::vector<const Sequence*> list() const;
  std::vector<const Sequence*> list(std::string_view after, std::size_t most) const;
  std::size_t size() const { return by_name_.size(); }
  ReplayTable& replays() { return replays_; }
  const std::map<ScopeId, std::unique_ptr<StoreScope>>& scopes() const { return scopes_; }
  const StoreScope* scope_of_store(std::string_view store) const;
  void cancel(SessionId session, const Refusal& why = {});  // what it waits for; null: it is gone
  std::size_t flush_issues();  // of this turn, so that a repeat finds it: so many sequences
  void end_turn();  // decides what this turn left to decide; then the log may be committed
  // With those of the SettingsSource now. Returns the sequences whose change needs a restart.
  std::vector<std::string> apply_settings(const TableLimits& limits);
  // Raises its counter: no ID below `next_id` is leased any more; 0: none that was granted here.
  // Answers with its next ID, unless the daemon ends. A stopped sequence continues.
  void advance(SequenceId id, std::int64_t next_id, bool withdraw,
               std::function<void(Result<std::int64_t>)> done);
  // `done` is called when the medium has that counters of the (open) name are about to be removed.
  void record_purge(std::string_view base, std::function<void()> done);
  // Reads the counter's floor, and withdraws what is below it; after a restore: see note_raised().
  void read_floor(SequenceId id, std::function<void(const Status&)> done);
  void note_raised(std::string_view store);  // that it was put back, and all counters are raised
  void beat_stores();                        // compares and raises their heartbeats; regularly
  void note_silence(std::string_view store, std::int64_t ms);  // see MeasuredStore::silent_ms()
  // Uses a store again that was put back, with gaps. SEQ_REGRESSED: not raised; UNAVAILABLE: later.
  Status resume_store(std::string_view store);
  // As Drain::begin(). `remove`: of a sequence that is not configured any more, all is a gap.
  Status drain(SequenceId id, std::int64_t timeout_ms, Drain::Done done, bool remove = false);
  void remove(SequenceId id, std::function<void(const Status&)> done);  // if nothing of it is left
  // Requests for IDs fail with `why`, except retries; no lease is begun. OK: they are served again.
  void refuse_requests(const Status& why);
  // The end: then leave_clean() when settled() or no time is left; exit behind the next flush.
  void begin_stop(const Status& why);
  bool settled() const, leave_clean();  // whether what was recorded has to become durable first
  SequenceBudgets& budgets() { return budgets_; }
  SequenceAccounts& accounts() { return accounts_; }
  BlockTable& blocks() override { return blocks_; }
  const BlockTable& blocks() const { return blocks_; }
  void durable(LogPosition) override, flush_failed(const Status&) override;
  void snapshot(const std::function<void(const LogEntry&)>& entry) const override;

 private:
  void touched(Sequence& sequence) override { touched_.push_back(&sequence); }
  void when_durable(SequenceId sequence, std::function<void()> then) override;
  void when_durable(std::function<void()> then) override { when_durable(0, std::move(then)); }
  void recorded(const Issued&) override, block_granted(Sequence&) override;
  Status check_not_removed(SequenceId sequence) const override;
  void look(SequenceId id) override, scope_owned(ScopeId) override, scope_failed(ScopeId) override;
  bool scope_lost(ScopeId scope) override, scope_holds(ScopeId scope) const override;
  StoreScope* restored_scope(std::string_view store);
  void scope_refused(ScopeId, const Status&) override, scope_moves(ScopeId) override;
  StoreScope& scope_for(const std::string& store);
  StoreScope& add_scope(DefineScope definition, StoreScope::Known known);
  Sequence& look_up(SequenceId id);
  Sequence& add_sequence(const DefineSequence& definition, SequenceSettings settings);
  void restore_sequence(const SequenceImage&, struct Moves&), share_marks(const class LeasedBelow&);
  void know_periods(std::string_view, const SequenceSettings&), forget(Sequence&);
  Result<SequenceId> open_period(const std::string& base, const SequenceSettings&,
                                 std::optional<UserId>);
  Status check_room(const DefineSequence& definition, bool named, std::optional<UserId> user) const;
  SequenceId find_period(std::string_view base) const;
  void end_look(SequenceId, bool over), look_for_ends(), look_on(), settle_name(std::string_view);
  bool may_be_forgotten(const Sequence& sequence, std::int64_t over_s) const;
  bool is_settled(const Sequence&sequence) const, is_known(std::string_view base) const;
  DefineName* find_name(std::string_view base);
  DefineName& know_name(std::string_view base);
  void add_form(DefineName&, const std::string&), note_begun(DefineName&, const PeriodSettings&);
  const CoreContext context_;
  const SettingsSource& settings_;
  const Stores stores_;
  TableLimits limits_;
  ReplayTable replays_;
  SequenceBudgets budgets_;
  SequenceAccounts accounts_;
  BlockTable blocks_;
  SharedSettings shared_settings_;
  std::map<ScopeId, std::unique_ptr<StoreScope>> scopes_;
  std::map<ScopeId, SequenceContext> contexts_;  // of their sequences
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  std::pair<SequenceId, Sequence*> last_;           // what at() found last; 0: nothing
  std::map<std::string_view, SequenceId> by_name_;  // no hash: callers choose the names
  KnownNames<Sequence> known_;
  std::map<std::string, DefineName, std::less<>> names_;        // but for SequenceNotes::plain_name
  std::map<std::string, LogPosition, std::less<>> forms_open_;  // durable with these positions
  CurrentPeriods periods_;
  OneShot period_timer_{context_.timers};
  std::string looked_at_;  // the last one, for the end of its period
  NextNumbers next_;
  TableRefusals refusals_;
  std::vector<Sequence*> touched_, pumped_;  // pumped_: those of the turn that ends
  AwaitingFlushes awaiting_;
  FloorLooks looks_{context_, [this](SequenceId id) { end_look(id, true); }};
};

}  // namespace seqd
