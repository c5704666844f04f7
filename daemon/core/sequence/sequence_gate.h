// SequenceGate: whether a sequence may issue, and the error of requests if it may not. What stops
// it, and one state, are derived from everything that can keep it from issuing: what the table and
// the store's scope refuse is read from them, with update(). Owned by its Sequence; loop thread.
#pragma once

#include <cstdint>
#include <utility>

#include "daemon/base/status.h"

namespace seqd {

struct SequenceContext;

// What stops a sequence until it is mended; of several the first.
enum class StopCause : std::uint8_t {
  none,
  unconfigured,  // the configuration has no such sequence any more
  elsewhere,     // it has another counter for it, or lets it insert documents
  changed,       // its scope has another database than the one that its ranges came from
  restored,      // its scope has an older copy of it
  regressed,     // its counter was set back
};

struct Stopped {
  StopCause by = StopCause::none;
  Status why;  // OK: nothing stops it
};

class SequenceGate {
 public:
  // The first of these that holds.
  enum class State : std::uint8_t {
    ending,       // the daemon ends
    refusing,     // all requests are refused; see TableRefusals
    stopped,      // those of this sequence are, until what stopped it is mended
    unowned,      // the remainder is not ours (yet)
    looking,      // its floor may have been raised, and is read first; see FloorLooks
    draining,     // it leaves
    withdrawing,  // a part has to leave that may not be issued any more: the log does not accept
    open,
  };

  // The context outlives this.
  explicit SequenceGate(const SequenceContext& context);

  State state() const { return state_ == State::looking ? find_state(store_answers()) : state_; }
  bool open() const { return state_ == State::open || (looks_ && state() == State::open); }
  // The error of every request; OK: it may wait.
  Status refusal() const;
  StopCause stop_cause() const { return stop_cause_; }
  // Why it is stopped; OK: nothing stops it.
  const Status& stop_error() const;
  bool withdrawing() const { return withdrawing_; }

  // By the configuration or the counter; `none`: by neither any more.
  void set_stopped(Stopped stopped) { stopped_ = std::move(stopped), update(); }
  void set_looks(bool looks) { looks_ = looks, update(); }  // while the store answers
  void set_draining(bool draining) { draining_ = draining, update(); }
  void set_withdrawing(bool withdrawing) { withdrawing_ = withdrawing, update(); }
  // What the table or the scope refuses has changed.
  void update() { stop_cause_ = find_stop_cause(), state_ = find_state(true); }

 private:
  StopCause find_stop_cause() const;
  State find_state(bool store_answers) const;
  bool store_answers() const;

  const SequenceContext& context_;
  Stopped stopped_;  // by the configuration or the counter
  bool looks_ = false;
  bool draining_ = false;
  bool withdrawing_ = false;
  StopCause stop_cause_;
  State state_;
};

}  // namespace seqd
