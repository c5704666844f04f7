// Sequence: its available ranges, who waits for them, and the lease of the next one. Requests are
// served from issuable IDs, else they wait. Events only store what happened and ask for attention;
// what follows is decided once a turn, in pump(). Owned by the SequenceTable; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/context.h"
#include "daemon/core/leasing/lease_operation.h"
#include "daemon/core/leasing/lease_sizer.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/returns/drain.h"
#include "daemon/core/sequence/exhaustion.h"
#include "daemon/core/sequence/held_ranges.h"
#include "daemon/core/sequence/pending_issue.h"
#include "daemon/core/sequence/sequence_owner.h"
#include "daemon/core/sequence/waiters.h"

namespace seqd {

class StoreScope;

class Sequence final : private LeaseOperation::Owner, private Drain::Owner {
 public:
  Sequence(const CoreContext& context, SequenceOwner& attention, const SequenceSettings& settings,
           StoreScope& scope, const DefineSequence& definition);
  ~Sequence() override;
  const DefineSequence& definition() const { return definition_; }
  const std::string& name() const { return definition_.name; }
  SequenceId id() const { return id_; }
  const StoreScope& scope() const { return scope_; }
  const SequenceTotals& totals() const { return totals_; }
  std::int64_t available() const { return held_.available(); }
  const HeldRanges& held() const { return held_; }
  std::int64_t high_water() const { return definition_.high_water; }
  std::optional<std::int64_t> next_id() const { return held_.next_id(); }
  std::optional<std::int64_t> last_issued() const { return last_issued_; }
  std::int64_t waiting() const { return waiters_.size(); }
  const SequenceSettings& settings() const { return settings_; }
  const Exhaustion& exhaustion() const { return exhaustion_; }
  std::string_view state_name() const;  // "ready", "fetching", "waiting" or "stopped"
  Status error() const;  // why it is stopped, else why the last lease failed; OK when neither
  const Status& stopped() const { return stopped_; }
  bool in_flight() const { return lease_.in_flight() || drain_.in_flight() || advances_ > 0; }
  bool awaits_advance() const;  // for every host, before its scope may begin again
  bool leasing() const { return lease_.intent_open() || left_open_.has_value(); }
  bool wants() const { return wanted_; }
  bool holds_nothing() const { return available() + drain_.returning() == 0 && !leasing(); }
  const Drain& draining() const { return drain_; }

  bool issue_one(const Caller& caller, std::int64_t* id, IssueAs as = {}) {
    if (!waiters_.empty() || !open_ || !held_.take_one(id)) return false;
    note_issue(*id, *id + 1, caller, as);
    return true;
  }
  bool issue_many(const Caller& caller, std::int64_t count, std::vector<Run>* runs);
  // Puts the request behind those that wait: answered through the ReplySink once, unless cancelled.
  // An error means it is not queued. `timeout_ms` < 0: the sequence's own.
  Status wait(const Caller& caller, IssueKind kind, std::int64_t count, std::int64_t timeout_ms);
  std::int64_t cancel(SessionId session, const Status& why = {});  // so many; OK: unanswered
  void restore(const SequenceImage& image);
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;
  void apply_settings(const SequenceSettings& settings);
  void begin_advance() { ++advances_; }  // of the counter: until its end nothing is returned
  void end_advance(const Result<std::int64_t>& next_id);   // what the counter had stopped goes on
  void drain(std::int64_t deadline_ms, Drain::Done done);  // see Drain::begin(); requests wait
  bool counter_read(const CounterReading& reading);        // withdraws; false: it awaits an advance
  void end_period();                                       // it is over: what is available is a gap
  void refuse(const Status& why);  // not usable as configured: every request hears `why`
  void scope_owned();              // leases and reservations may go on
  bool scope_lost();  // to another daemon: all available is a gap; false: the log waits, call again
  bool give_up_restored();  // its database is an older copy: the same; then begin_again()
  void begin_again();
  DrainReport give_up(const std::string& why);  // what is open is a gap, without the store
  void durable(LogPosition position);           // everything up to it is on the medium
  void pump();  // decides what to do next, at the end of a turn in which touched() was called
  void hold();  // issues nothing until this turn's record is on the medium
  void flush_issues();                    // writes what was issued in this turn into the log
  void log_failed(const Status& status);  // nothing more becomes durable: lease nothing
  void begin_stop(const Status& why);     // the daemon ends: waiters hear `why`, no lease is begun
  void refuse_requests(const Status& why);  // see SequenceTable

 private:
  LeaseRequest lease_request() const override;
  void intent_appended() override;
  void lease_granted(IdRange range, const Token& lease) override;
  void lease_failed(const Status& status) override;
  void lease_contended() override;
  void lease_untraceable() override;
  void lease_moved_on() override { touch(); }
  bool may_ask() const override;  // this and the next of both
  void met_older_copy() override;
  ReturnRequest return_request() const override;
  bool may_drain() const override { return !leasing() && advances_ == 0; }
  void drain_appended() override { attention_.wait_durable(id_); }
  void written_off(std::int64_t begin, std::int64_t end) override;
  void returned(std::int64_t begin, std::int64_t end, Reuse reuse) override;
  void drain_changed() override;
  void update_open();
  void note_issue(std::int64_t begin, std::int64_t end, const Caller& caller, IssueAs as);
  void touch();
  void withdraw();  // what lies below the floor or above the maximum; when any of it changes
  void leave(const HeldRanges::Held& held, GapCause cause, const std::string& why);
  void serve_waiters();
  void expire_waiters();
  void fail_waiters(const Status& status, std::int64_t available = 0);
  void reserve();
  void lease();
  void arm_deadline();
  void go_on();
  void adopt();                                            // what the last process left open
  void surrender(GapCause cause, const std::string& why);  // everything that is open is a gap
  void resize_reservation();
  const CoreContext& context_;
  SequenceOwner& attention_;
  StoreScope& scope_;
  const SequenceId id_;
  SequenceSettings settings_;
  DefineSequence definition_;
  SequenceTotals totals_;
  HeldRanges held_;
  Waiters waiters_;
  LeaseSizer sizer_;
  Exhaustion exhaustion_;
  LeaseOperation lease_;
  Drain drain_;
  std::optional<LeaseIntended> left_open_;  // in flight at the last end; looked up once it is ours
  PendingIssue pending_;                    // issued in this turn, not in the log yet
  bool open_ = false;                       // may issue: the scope is ours and nothing stops us
  bool touched_ = false, withdrawing_ = false;  // the latter waits for a log that accepts
  bool wanted_ = false;        // requests came since the last grant: another lease is worth having
  LogPosition reserving_ = 0;  // the reservation in flight is durable with this position; 0: none
  LogPosition intent_ = 0, held_until_ = 0;  // the same for the next lease; for all issues
  std::int64_t reserve_size_ = 0, reserved_at_ms_ = 0, deadline_ms_ = 0;
  int advances_ = 0;                        // under way
  std::int64_t floor_ = 0, raised_to_ = 0;  // see AdvanceRequest::withdraw; that in an older copy
  std::optional<std::int64_t> last_issued_;
  std::int64_t used_below_ = 0;  // end of what was issued or written off; see UsedBelow
  Status stopped_;               // the sequence is stopped for good
  Status failing_;  // what callers hear while nothing is available and trying again would not help
  Status log_failure_, ending_, refusing_;
  TimerId deadline_timer_ = 0;  // fires at deadline_ms_
};

}  // namespace seqd
