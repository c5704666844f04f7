// SequenceGate: whether a sequence may issue, and the error of requests if it may not. One state,
// derived from everything that can keep it from issuing. Owned by its Sequence; loop thread.
#pragma once

#include <cstdint>

#include "daemon/base/status.h"

namespace seqd {

class StoreScope;

class SequenceGate {
 public:
  // The first of these that holds.
  enum class State : std::uint8_t {
    ending,       // the daemon ends
    refusing,     // all requests are refused; see SequenceTable
    stopped,      // those of this sequence are, until what stopped it is mended
    unowned,      // the remainder is not ours (yet)
    looking,      // its floor may have been raised, and is read first; see FloorLooks
    draining,     // it leaves
    withdrawing,  // a part has to leave that may not be issued any more: the log does not accept
    open,
  };

  explicit SequenceGate(const StoreScope& scope);

  State state() const { return state_ == State::looking ? find_state(store_answers()) : state_; }
  bool open() const { return state_ == State::open || (looks_ && state() == State::open); }
  // The error of every request; OK: it may wait.
  Status refusal() const;
  bool ending() const { return !ending_.ok(); }
  const Status& stopped() const { return stopped_; }
  bool withdrawing() const { return withdrawing_; }

  void end(const Status& why) { ending_ = why, update(); }
  void refuse(const Status& why) { refusing_ = why, update(); }  // OK: not any more
  void stop(const Status& why) { stopped_ = why, update(); }     // the same
  void scope_changed() { update(); }
  void set_looks(bool looks) { looks_ = looks, update(); }  // while the store answers
  void set_draining(bool draining) { draining_ = draining, update(); }
  void set_withdrawing(bool withdrawing) { withdrawing_ = withdrawing, update(); }

 private:
  State find_state(bool store_answers) const;
  bool store_answers() const;
  void update() { state_ = find_state(true); }

  const StoreScope& scope_;
  Status ending_, refusing_, stopped_;
  bool looks_ = false, draining_ = false, withdrawing_ = false;
  State state_;
};

}  // namespace seqd
