// SequenceTable: all sequences, the stores' scopes and the replay table: the core as the layers
// above see it. It is filled from a StateImage, and gives the log its snapshots.
// One loop turn: any number of calls, end_turn(), RemainderLog::commit(), then replies may leave.
// Sequences of a period that was over long ago are removed: a SequenceId may be gone. Loop thread.
#pragma once

#include <map>

#include "daemon/base/one_shot.h"
#include "daemon/core/names/names.h"
#include "daemon/core/table/awaiting_flush.h"
#include "daemon/core/table/scopes.h"
#include "daemon/core/table/sequence_accounts.h"
#include "daemon/core/table/sequences.h"
#include "daemon/core/table/shared_settings.h"
#include "daemon/core/table/table_limits.h"

namespace seqd {

class SequenceTable final : public RemainderLogObserver,
                            public SnapshotSource,
                            private SequenceOwner {
 public:
  using Stores = Scopes::Stores;  // they outlive the table

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
  Sequences& sequences() { return sequences_; }
  const Sequences& sequences() const { return sequences_; }
  bool is_present_period(std::string_view name) const;  // "NAME@PERIOD", whence NAME issues now
  Sequence& at(SequenceId id) { return sequences_.at(id); }
  const Sequence& at(SequenceId id) const { return sequences_.at(id); }
  // The format and the rights of that name, in use or not; or null.
  std::shared_ptr<const IdFormat> format_of(std::string_view name) const;
  const AccessSettings* access_of(std::string_view name) const;
  Result<std::optional<TextForm>> admit_text(SequenceId id) override;
  const Names& names() const { return names_; }
  ReplayTable& replays() { return replays_; }
  Scopes& scopes() { return scopes_; }
  const Scopes& scopes() const { return scopes_; }
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
  void recorded(const Issued&) override, block_granted(Sequence&) override;
  Status check_not_removed(SequenceId sequence) const override;
  void look(SequenceId id) override { scopes_.look(id); }
  Sequence& add_sequence(const DefineSequence& definition, SequenceSettings settings);
  void restore_sequence(const SequenceImage&, struct Moves&);
  void restore_names(const StateImage& image);
  void know_periods(std::string_view, const SequenceSettings&), forget(Sequence&);
  Result<SequenceId> open_period(const std::string& base, const SequenceSettings&,
                                 std::optional<UserId>);
  Status check_room(const DefineSequence& definition, bool named, std::optional<UserId> user) const;
  SequenceId find_period(std::string_view base) const;
  void look_for_ends(), look_on();
  bool may_be_forgotten(const Sequence& sequence, std::int64_t over_s) const;
  bool is_settled(const Sequence&sequence) const, is_known(std::string_view base) const;
  const DefineName& define_name(std::string_view base);
  const CoreContext context_;
  const SettingsSource& settings_;
  TableLimits limits_;
  ReplayTable replays_;
  SequenceBudgets budgets_;
  SequenceAccounts accounts_;
  BlockTable blocks_;
  SharedSettings shared_settings_;
  TableRefusals refusals_;
  Scopes scopes_;
  Sequences sequences_;
  Names names_{context_.log};
  OneShot period_timer_{context_.timers};
  std::string looked_at_;                    // the last one, for the end of its period
  NextNumbers next_;                         // but for that of a scope
  std::vector<Sequence*> touched_, pumped_;  // pumped_: those of the turn that ends
  AwaitingFlushes awaiting_;
};

}  // namespace seqd
