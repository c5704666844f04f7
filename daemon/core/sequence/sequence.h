// Sequence: the available ranges of one name, the requests that wait for them, and the lease or the
// return that is open at its store. Events only store what happened and call touch(); pump()
// decides once a turn what follows. The parts: Issuer, SequenceGate, WaiterQueue, Replenisher,
// Drain, StoreOperation, SequenceDefinition; what they need while something is under way exists
// only then: most sequences rest. Of the SequenceTable; loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/core/log/state_image.h"
#include "daemon/core/sequence/counter_floor.h"
#include "daemon/core/sequence/drain.h"
#include "daemon/core/sequence/exhaustion.h"
#include "daemon/core/sequence/issuer.h"
#include "daemon/core/sequence/lease_slot.h"
#include "daemon/core/sequence/replenisher.h"
#include "daemon/core/sequence/sequence_blocks.h"
#include "daemon/core/sequence/sequence_definition.h"
#include "daemon/core/sequence/sequence_gate.h"
#include "daemon/core/sequence/sequence_notes.h"
#include "daemon/core/sequence/waiter_queue.h"

namespace seqd {

class Sequence final : private LeaseSlot::Owner {
 public:
  // `settings` of SharedSettings; `key`: of the counter. The context outlives this.
  Sequence(const SequenceContext& context, std::shared_ptr<const SequenceSettings> settings,
           const std::string& key, const DefineSequence& definition);

  const SequenceDefinition& definition() const { return definition_; }
  SequenceDefinition& definition() { return definition_; }  // to record its moves
  const std::string& name() const { return definition_.name(); }
  SequenceId id() const { return definition_.id(); }
  const StoreScope& scope() const { return context_.scope; }
  const SequenceSettings& settings() const { return definition_.settings(); }
  const SequenceTotals& totals() const { return issuer_.totals(); }  // as far as the log has it
  const HeldRanges& held() const { return issuer_.held(); }
  std::int64_t available() const { return held().available(); }
  std::int64_t out() const { return blocks_.out(); }  // IDs
  const SequenceBlocks& blocks() const { return blocks_; }
  const WaiterQueue& waiters() const { return waiters_; }
  const Exhaustion& exhaustion() const { return exhaustion_; }
  const Drain& draining() const { return drain_; }
  const LeaseSlot& slot() const { return slot_; }
  const Issuer& issuer() const { return issuer_; }
  const Replenisher& replenisher() const { return replenisher_; }
  const CounterFloor& floor() const { return floor_; }
  StopCause stop_cause() const { return gate_.stop_cause(); }
  const Status& stop_error() const { return gate_.stop_error(); }  // OK: nothing stops it
  SequenceNotes& notes() const { return notes_; }
  // One ID. False: it has to wait.
  bool issue_one(const Caller& caller, std::int64_t* id, IssueAs as = {}) {
    if (!waiters_.empty() || !gate_.open() || !issuer_.issue_one(caller, id, as)) return false;
    note_issued();
    return true;
  }
  bool issue_many(const Caller& caller, std::int64_t count, std::vector<Run>* runs);
  // A block of up to `count` IDs. Never waits: UNAVAILABLE, and a lease is wanted.
  Result<Run> grant_block(const Caller& caller, std::uint32_t slot, std::int64_t count);
  void block_over(const Block& block, std::optional<std::int64_t> taken);  // see BlockTable::Over
  // Queues the request. It is answered once, unless it is cancelled or an error is returned.
  // `timeout_ms` < 0: the time-out of the sequence.
  Status wait(const Caller& caller, IssueKind kind, std::int64_t count, std::int64_t timeout_ms);
  std::int64_t cancel(SessionId session, const Status& why = {});  // so many; OK: unanswered
  void pump();  // decides what to do next, at the end of a turn in which touched() was called
  void flush_issues() { issuer_.flush(); }
  // Of the counter: until its end nothing is returned.
  void begin_advance() { floor_.advance_began(); }
  void end_advance(const Result<std::int64_t>& next_id);  // resumes what the counter had stopped
  bool counter_read(const CounterReading& reading);       // withdraws; false: it awaits an advance
  void looked(bool over);  // over: its floor need not be waited for; else the store does not answer
  void drain(std::int64_t deadline_ms, Drain::Done done);  // see Drain::begin(); requests wait
  void period_over(), end_period();   // none is leased of it; what is available is a gap
  void set_stopped(Stopped stopped);  // by its configuration: requests fail
  void scope_refused();               // they fail with StoreScope::last_error()
  void apply_settings(std::shared_ptr<const SequenceSettings> settings, const std::string& key);
  void refusing_changed(), log_failed(), ending_began();  // TableRefusals has another one

  // Over the end of a process, and of an ownership: sequence_restart.cc.
  void restore(const SequenceImage& image);
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;
  void scope_owned(), begin_again();  // leases and reservations may continue
  bool scope_lost();  // to another daemon: all available is a gap; false: the log waits, call again
  bool give_up_restored();  // its database is an older copy: the same; then begin_again()
  DrainReport give_up(const std::string& why, GapCause cause);  // all is a gap, without the store

 private:
  void leased(IdRange range, const Token& lease) override;
  void cannot_lease(const Status& why) override;
  void counter_regressed(const Status& why) override;
  void returned(const ReturnOpened& opened) override;
  void kept(const ReturnOpened& opened, GapCause cause, const Status& why) override;
  void touch() override {
    if (!std::exchange(touched_, true)) context_.table.touched(*this);
  }

  void begin_lease(std::int64_t demand);
  void begin_drain(Reuse reuse, std::int64_t deadline_ms, Drain::Done done, GapCause cause);
  void end_drain(), drain_changed();
  void note_issued() { replenisher_.want(), touch(); }
  void prepare(), serve_waiters(), expire_waiters(), want_nothing(), go_on(), adopt();
  void fail_stopped();  // where something stops it
  Result<std::optional<IssueAs>> admit(const Waiter& waiter);
  void withdraw(), withdraw_available();  // below the floor, above the maximum; when these change
  void stop_operations();
  // What is open at the store, and what is available: a gap.
  void surrender(GapCause cause, const std::string& why);

  CounterFloor floor_;
  SequenceGate gate_;  // of it the end, and from here on, is what a request and its turn look at
  const SequenceContext& context_;
  SequenceDefinition definition_;
  bool touched_ = false;
  WaiterQueue waiters_;
  Issuer issuer_;
  SequenceBlocks blocks_;
  mutable SequenceNotes notes_;  // of the table, which has them here
  Replenisher replenisher_;
  LeaseSlot slot_;
  Drain drain_;            // to here,
  Exhaustion exhaustion_;  // and the begin of this
};

}  // namespace seqd
