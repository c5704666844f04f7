// SequenceTable: the core as the layers above see it: it makes sequences, and has the parts that
// know them. It is filled from a StateImage, and gives the log its snapshots. Loop thread.
//
//   Sequences       all of them, by number and by name
//   Scopes          the stores, and what happens to the sequences of each
//   Names           what is known of names for longer than their sequences are kept
//   SequenceOrders  what an operator has done to one sequence
//   PeriodEnds      ends sequences whose period is over, and forgets them later
//
// One loop turn: any number of calls, end_turn(), RemainderLog::commit(), then replies may leave.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/names/names.h"
#include "daemon/core/stores/scopes.h"
#include "daemon/core/stores/sequences.h"
#include "daemon/core/table/awaiting_flush.h"
#include "daemon/core/table/period_ends.h"
#include "daemon/core/table/sequence_accounts.h"
#include "daemon/core/table/sequence_orders.h"
#include "daemon/core/table/shared_settings.h"
#include "daemon/core/table/table_limits.h"

namespace seqd {

class Moves;

class SequenceTable final : public RemainderLogObserver,
                            public SnapshotSource,
                            private SequenceOwner {
 public:
  using Stores = Scopes::Stores;  // they outlive the table

  // `pages` may be null: then there are no blocks.
  SequenceTable(const CoreContext& context, const SettingsSource& settings, Stores stores,
                const TableLimits& limits, BlockPages* pages = nullptr);
  // Takes over what the log has; once, before anything else.
  void restore(const StateImage& image);
  // At a reload: these limits, and the settings that the SettingsSource has now (SequenceFate).
  // Returns the sequences whose change needs a restart.
  std::vector<std::string> apply_settings(const TableLimits& limits);

  // --- a name, and its sequence
  // The sequence of that name, or of its present period; it is made if the configuration allows it
  // and there is room.
  Result<SequenceId> open(std::string_view name, std::optional<UserId> user = {});
  // The same for an advance. BAD_REQUEST: the period is too far ahead.
  Result<SequenceId> open_to_advance(std::string_view name);
  bool is_of_now(SequenceId id) const;           // of a period that has the present moment
  void confirm_clock(SequenceId id);             // by an advance of such a one that has ended well
  SequenceId find(std::string_view name) const;  // without making it; 0: it is not there
  Sequence& at(SequenceId id) { return sequences_.at(id); }
  const Sequence& at(SequenceId id) const { return sequences_.at(id); }
  bool is_present_period(std::string_view name) const;  // "NAME@PERIOD", and NAME issues from it
  // The format and the rights of that name, which need not be in use; null: it has none.
  std::shared_ptr<const IdFormat> format_of(std::string_view name) const;
  const AccessSettings* access_of(std::string_view name) const;
  Result<std::optional<TextForm>> admit_text(SequenceId id) override;
  // Records that counters of that name, which is in use, are about to be removed. Then `done`.
  void record_purge(std::string_view base, std::function<void()> done);

  // --- the parts
  Sequences& sequences() { return sequences_; }
  const Sequences& sequences() const { return sequences_; }
  Scopes& scopes() { return scopes_; }
  const Scopes& scopes() const { return scopes_; }
  const Names& names() const { return names_; }
  KnownRegisters& registers() { return names_.registers(); }
  SequenceOrders& orders() { return orders_; }
  BlockTable& blocks() override { return blocks_; }
  const BlockTable& blocks() const { return blocks_; }
  ReplayTable& replays() { return replays_; }
  SequenceBudgets& budgets() { return budgets_; }
  SequenceAccounts& accounts() { return accounts_; }

  // --- the turn
  // Drops what a session that has ended waits for. With `why`: only where that is an error, which
  // is the answer.
  void cancel(SessionId session, const Refusal& why = {});
  std::size_t append_issues();  // of this turn, so that repeats find them; of so many sequences
  // Decides what follows from this turn; then the log may be committed.
  void end_turn();
  void durable(LogPosition position) override;
  void flush_failed(const Status& status) override;
  void snapshot(const std::function<void(const LogEntry&)>& entry) const override;

  // --- the end
  // Requests for IDs fail with `why`, except retries; no lease is begun. OK: they are served again.
  void refuse_requests(const Status& why);
  // Then leave_clean(), when settled() or no time is left.
  void begin_stop(const Status& why);
  bool settled() const;
  // Records what the next start needs. Whether the daemon has to wait until that is durable.
  bool leave_clean();

 private:
  // SequenceOwner
  void touched(Sequence& sequence) override { touched_.push_back(&sequence); }
  void when_durable(SequenceId sequence, std::function<void()> then) override;
  void recorded(const Issued& issue) override;
  void block_granted(Sequence& sequence) override;
  Status check_not_removed(SequenceId sequence) const override;
  void look(SequenceId id) override { scopes_.look(id); }

  void restore_sequence(const SequenceImage& image, Moves& moves);
  bool configure_again(Sequence& sequence);  // false: needs a restart, and nothing was done
  void restore_names(const StateImage& image);
  Sequence& add(const DefineSequence& definition, SequenceSettings settings);
  // False: something of it is in use, and nothing was done. `period`: null if it has none.
  bool forget(Sequence& sequence, const PeriodSpan* period);
  Status check_room(const DefineSequence& definition, bool named, std::optional<UserId> user) const;
  bool is_known(std::string_view base) const;
  const DefineName& record_for(std::string_view base);
  void know_periods(std::string_view name, const SequenceSettings& settings);
  Result<SequenceId> make(const std::string& name, const SequenceSettings& settings,
                          std::optional<UserId> user);
  Result<SequenceId> open_period(const std::string& base, const SequenceSettings& settings,
                                 std::optional<UserId> user);
  SequenceId find_period(std::string_view base) const;
  std::int64_t now_s() const { return context_.clock.wall_ms() / 1'000; }

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
  Names names_;
  SequenceOrders orders_;
  PeriodEnds ends_;
  SequenceId next_sequence_ = 1;  // scopes_ and replays_ have those of scopes and clients
  std::vector<Sequence*> touched_;
  std::vector<Sequence*> pumped_;  // those of the turn that ends
  AwaitingFlushes awaiting_;
};

}  // namespace seqd
