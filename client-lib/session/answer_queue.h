// AnswerQueue: the answers for seqd_poll. Those that were delivered stay where they are until the
// program makes its next call, because what it was given points into them. Owned by a Session; one
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "client-lib/session/reply_reader.h"
#include "client-lib/session/ring.h"

namespace seqd::engine {

class AnswerQueue {
 public:
  // Answers that were not delivered.
  std::size_t count() const { return answers_.size() - delivered_; }
  // A new one, whose tag and run are still to be written; valid until the next call that is not
  // const. Without memory nothing has changed.
  Answer& add() { return answers_.push_back(); }

  // Delivers up to `capacity` of them, after drop_delivered(): delivered(0 .. delivered_count()).
  void deliver(std::size_t capacity) { delivered_ = std::min(capacity, answers_.size()); }
  std::size_t delivered_count() const { return delivered_; }
  // Valid until the next call that is not const.
  const Answer& delivered(std::size_t at) const { return answers_[at]; }
  void drop_delivered() {
    for (; delivered_ > 0; --delivered_) answers_.pop_front();
  }
  // Takes the next one out; false when there is none.
  bool take(Answer& answer) {
    drop_delivered();
    if (answers_.empty()) return false;
    answer = std::move(answers_.front());
    answers_.pop_front();
    return true;
  }

 private:
  Ring<Answer> answers_;
  std::size_t delivered_ = 0;  // the first ones
};

}  // namespace seqd::engine
