// Turn: the main rule in one place. One pass of the event loop decides, writes the log, and then
// replies, in this order; so no reply contains what a kill -9 could undo. The last turn follows the
// rule, too: a daemon ends when its clean record is on the medium. The daemon and the simulator run
// this class, each with its own TurnOwner around it.
//
//   serving -> stopping    begin_stop(): no new request; leases in flight are awaited
//   stopping -> leaving    all is settled, or leave(): the clean record waits for the medium
//   leaving -> over        it is there, or there is nothing that has to become durable first
//
// Loop thread; the referenced objects outlive it.
#pragma once

#include <cstdint>

#include "daemon/base/state_machine.h"
#include "daemon/core/log/remainder_log.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {

// What is around the core: sockets, other things that decide, and the process itself.
class TurnOwner {
 public:
  virtual ~TurnOwner() = default;
  // The last moment to decide something in this turn.
  virtual void decide() = 0;
  // While stopping: whether nothing is under way any more besides what the core waits for.
  virtual bool others_settled() const = 0;
  // Whether a later start uses the state of this daemon; false for a decommissioned one.
  virtual bool leaves_state() const = 0;
  // The turn is in the log: its replies may leave.
  virtual void reply() = 0;
  // The daemon may end: what it leaves is on the medium. Once. Replies of this turn may follow.
  virtual void over() = 0;
  // The medium failed while the daemon was serving. What is reserved may still be issued; then the
  // process has to end, and the next one writes everything again.
  virtual void log_failed(const Status& status) = 0;
  // The process has to end now, and nothing of this turn may be replied to. It does not return: the
  // daemon exits, the simulator throws. In a test it may: then the turn ends without replies.
  virtual void die(const Status& status) = 0;
};

class Turn final : public RemainderLogObserver {
 public:
  enum class Phase : std::uint8_t { serving, stopping, leaving, over };

  Turn(SequenceTable& table, RemainderLog& log, TurnOwner& owner)
      : table_(table), log_(log), owner_(owner) {}

  Phase phase() const { return phase_.state(); }
  bool serving() const { return phase_ == Phase::serving; }

  // Ends the turn: decides what is left to decide, writes its record, publishes the blocks that it
  // granted, and has its replies sent.
  void end();
  // From now on requests fail with `why`. Only while serving.
  void begin_stop(const Status& why);
  // Waits no longer for what is in flight. False: the log has failed, die() was called, and this
  // turn has no replies. True in every other case, also where nothing was done.
  bool leave();

  // RemainderLogObserver
  void durable(LogPosition position) override;
  void flush_failed(const Status& status) override;

 private:
  static const StateTable<Phase> kMoves;

  void finish();

  SequenceTable& table_;
  RemainderLog& log_;
  TurnOwner& owner_;
  StateMachine<Phase> phase_{kMoves, Phase::serving};
  Status failure_;                  // of the log, while serving
  LogPosition clean_position_ = 0;  // the clean record is durable with this one; 0: none is awaited
};

}  // namespace seqd
