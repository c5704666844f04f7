// StoreHealth: whether a store answers, as the calls of one scope show it.
//
//   up -> failing -> up      a call failed; a later one was answered, or the error is forgotten
//   failing -> down -> up    it has failed for kDownAfterMs; the journal has both moves
//
// A single failure is no outage: several hosts may have met at one counter. A value, which is owned
// by its StoreScope; one thread.
#pragma once

#include <cstdint>

#include "daemon/base/backoff.h"
#include "daemon/base/random.h"
#include "daemon/base/state_machine.h"
#include "daemon/base/status.h"

namespace seqd {

// The outcome of a call as one of its store. OK also for an error that the same call would meet
// again: the store has answered so, about one sequence.
Status as_seen_of_store(const Status& outcome);

class StoreHealth {
 public:
  enum class State : std::uint8_t { up, failing, down };
  static constexpr std::int64_t kDownAfterMs = 2'000;

  State state() const { return state_.state(); }
  // Why the newest call failed; OK when it was answered, or none has ended yet.
  const Status& error() const { return error_; }
  // Whether it has failed for kDownAfterMs. State `down` follows with the next failure.
  bool is_due_down(std::int64_t now_ms) const;
  // How long to wait before the next try; longer each time, until a call is answered.
  std::int64_t next_delay_ms(Random& random) { return backoff_.next_ms(random); }

  // A call was answered. True: the store was down.
  bool answered();
  // A call failed, or has not been answered for `for_ms`. True: the store is down from now on.
  bool failed(const Status& error, std::int64_t now_ms, std::int64_t for_ms);
  // For how long the calls under way have been overdue; 0: they are not. True: that has ended.
  bool note_silence(std::int64_t ms);
  // As if no call had failed; but a store that is down stays so until it answers.
  void forget_error();

 private:
  static const StateTable<State> kMoves;

  StateMachine<State> state_{kMoves, State::up};
  Status error_;
  std::int64_t failing_since_ms_ = 0;
  std::int64_t silence_ms_ = 0;  // as it was noted last
  Backoff backoff_;
};

}  // namespace seqd
