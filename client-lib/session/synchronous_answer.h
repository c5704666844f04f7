// SynchronousAnswer: the answer that a call waits for, of which a handle has one at a time. Owned
// by a Session; one thread.
#pragma once

#include <cstdint>
#include <utility>

#include "client-lib/session/reply_reader.h"

namespace seqd::engine {

class SynchronousAnswer {
 public:
  // A call waits for the answer to the request of that number.
  void expect(std::uint32_t number) {
    number_ = number;
    if (arrived_) answer_.clear();  // it was not taken
    arrived_ = false;
  }
  std::uint32_t number() const { return number_; }  // 0: no call waits
  // It is there: the place for it, whose tag and run are to be written.
  Answer& arrive() {
    arrived_ = true;
    return answer_;
  }
  bool has_arrived(std::uint32_t number) const { return arrived_ && number == number_; }

  // Takes it; false when there is none yet.
  bool take(std::uint32_t number, Answer& answer) {
    if (!has_arrived(number)) return false;
    answer = std::move(answer_);
    drop();
    return true;
  }
  // The same of a `next` that has its ID.
  bool take_id(std::uint32_t number, std::int64_t& id) {
    if (!has_arrived(number) || !answer_.outcome.ok()) return false;
    id = answer_.first.first;
    drop();
    return true;
  }
  void drop() { expect(0); }

 private:
  Answer answer_;  // as clear() leaves one, unless arrived_
  bool arrived_ = false;
  std::uint32_t number_ = 0;
};

}  // namespace seqd::engine
