// Sequence: one name from which IDs are issued. A part decides about what it knows, this class what
// needs several of them; "Parts of a sequence" in ARCHITECTURE.md is the table of both. Events only
// store what happened and call touch(); pump() decides once a turn what follows. Most sequences
// rest and hold no memory for what may be under way. Of the SequenceTable; loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/core/log/state_image.h"
#include "daemon/core/ranges/exhaustion.h"
#include "daemon/core/sequence/counter_floor.h"
#include "daemon/core/sequence/drain.h"
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

  // --- its parts, and what is asked most of them
  const SequenceDefinition& definition() const { return definition_; }
  SequenceDefinition& definition() { return definition_; }  // to record its moves
  const Issuer& issuer() const { return issuer_; }
  const SequenceBlocks& blocks() const { return blocks_; }
  const WaiterQueue& waiters() const { return waiters_; }
  const Replenisher& replenisher() const { return replenisher_; }
  const LeaseSlot& slot() const { return slot_; }
  const Drain& draining() const { return drain_; }
  const CounterFloor& floor() const { return floor_; }
  const Exhaustion& exhaustion() const { return exhaustion_; }
  const StoreScope& scope() const { return context_.scope; }
  SequenceNotes& notes() const { return notes_; }
  const std::string& name() const { return definition_.name(); }
  SequenceId id() const { return definition_.id(); }
  const SequenceSettings& settings() const { return definition_.settings(); }
  const SequenceTotals& totals() const { return issuer_.totals(); }
  const HeldRanges& held() const { return issuer_.held(); }
  std::int64_t available() const { return held().available(); }
  std::int64_t out() const { return blocks_.out(); }
  StopCause stop_cause() const { return gate_.stop_cause(); }
  const Status& stop_error() const { return gate_.stop_error(); }

  // --- requests
  // One ID, or `count` of them. False: the request has to wait.
  bool issue_one(const Caller& caller, std::int64_t* id, IssueAs as = {}) {
    if (!waiters_.empty() || !gate_.open() || !issuer_.issue_one(caller, id, as)) return false;
    want_ids();
    return true;
  }
  bool issue_many(const Caller& caller, std::int64_t count, std::vector<Run>* runs);
  // A block of up to `count` IDs. Never waits: UNAVAILABLE, and a lease is wanted.
  Result<Run> grant_block(const Caller& caller, std::uint32_t slot, std::int64_t count);
  void block_over(const Block& block, std::optional<std::int64_t> taken);  // see BlockTable::Over
  // Queues the request. It is answered once, unless it is cancelled or an error is returned.
  // `timeout_ms` < 0: the time-out of the sequence.
  Status wait(const Caller& caller, IssueKind kind, std::int64_t count, std::int64_t timeout_ms);
  // So many of the session's requests leave. OK: without an answer.
  std::int64_t cancel(SessionId session, const Status& why = {});
  void append_issues() { issuer_.flush(); }  // into the log
  void pump();  // decides what follows, at the end of a turn in which touch() was called

  // --- its counter
  // An advance is sent to the store, and has ended: what the counter had stopped goes on.
  void begin_advance() { floor_.advance_began(); }
  void end_advance(const Result<std::int64_t>& next_id);
  // The store was read. What is below the floor leaves. False: an advance is awaited.
  bool counter_read(const CounterReading& reading);
  // SequenceOwner::look() has ended. `over`: requests wait no longer, the floor known or not.
  void looked(bool over);

  // --- leaving, stopping, settings
  void drain(std::int64_t deadline_ms, Drain::Done done);  // see Drain::begin(); requests wait
  void period_over();                                      // nothing is leased for it any more
  void end_period();                  // what is available is a gap, or returned with reuse "tail"
  void set_stopped(Stopped stopped);  // by its configuration or counter: requests fail
  void scope_refused();               // they fail with StoreScope::last_error()
  void refusing_changed();            // TableRefusals::refusing
  void log_failed();                  // TableRefusals::log_failed
  void ending_began();                // TableRefusals::ending
  void apply_settings(std::shared_ptr<const SequenceSettings> settings, const std::string& key);

  // --- over the end of a process, and of an ownership: sequence_restart.cc
  void restore(const SequenceImage& image);  // what the log had at the start
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;  // for a new log
  void scope_owned();       // its scope was won: leases and reservations may continue
  bool scope_lost();        // to another daemon: all is a gap. False: the log waits, call again
  bool give_up_restored();  // the same, where its database is an older copy
  void begin_again();
  DrainReport give_up(const std::string& why, GapCause cause);  // all is a gap, without the store

 private:
  // LeaseSlot::Owner
  void leased(IdRange range, const Token& lease) override;
  void cannot_lease(const Status& why) override;
  void counter_regressed(const Status& why) override;
  void returned(const ReturnOpened& opened) override;
  void kept(const ReturnOpened& opened, GapCause cause, const Status& why) override;
  void touch() override {
    if (!std::exchange(touched_, true)) context_.table.touched(*this);
  }
  void want_ids() {
    replenisher_.want();
    touch();
  }
  void serve_waiters();
  void expire_waiters();
  void prepare();
  void withdraw();  // what is below the floor or above the maximum, blocks too, becomes a gap
  void withdraw_available();  // the same, but for blocks
  void look_again();
  void fail_stopped();
  void go_on();
  void want_nothing();  // these three: sequence_drain.cc
  void drain_changed();
  void end_drain();
  void adopt();  // the rest: sequence_restart.cc
  void stop_operations();
  void surrender(GapCause cause, const std::string& why);  // all that is available becomes a gap

  CounterFloor floor_;
  // What a request and its turn read, in few cache lines: to the begin of exhaustion_.
  SequenceGate gate_;
  const SequenceContext& context_;
  SequenceDefinition definition_;
  bool touched_ = false;
  WaiterQueue waiters_;
  Issuer issuer_;
  SequenceBlocks blocks_;
  mutable SequenceNotes notes_;  // of the table, which has them here
  Replenisher replenisher_;
  LeaseSlot slot_;
  Drain drain_;
  Exhaustion exhaustion_;
};

}  // namespace seqd
