// RequestTable: the requests of one handle that have no answer yet, by number. Numbers rise from 1
// and never mean another request, so that the daemon can recognise a repeat. Owned by a Session;
// one thread.
//
// Invariant: the requests lie in order of their numbers; the first one, when there is any, has no
// answer; so floor() is the lowest number without one, which is what an `ack` says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "client-lib/session/ring.h"

namespace seqd::engine {

struct Request {
  enum class Method : std::uint8_t { next, next_text, range, peek, insert, call };
  // What few requests have.
  struct Body {
    std::string params;  // of call: one MessagePack array; of insert: the document
    std::string unique;  // of insert: a field that makes it safe to send it again; or empty
  };
  Method method = Method::next;
  bool synchronous = false;    // a call waits for it: its answer is not for seqd_poll
  bool perhaps = false;        // it was sent on a connection that ended
  std::string name;            // the sequence; for `call` the method
  std::int64_t count = 1;      // of range
  std::unique_ptr<Body> body;  // of call and insert
  void* tag = nullptr;
  std::int64_t deadline_ms = 0;          // by the monotonic clock
  std::int64_t connect_deadline_ms = 0;  // the same, while there is no connection

  std::string_view params() const { return body ? std::string_view(body->params) : ""; }
  std::string_view unique() const { return body ? std::string_view(body->unique) : ""; }
  // Gives memory back; that of the name is used again. What add() and add_next() assign stays.
  void clear() {
    name.clear();
    body.reset();
    perhaps = false;
  }
};

// Of a request; see there.
struct Deadlines {
  std::int64_t ms = 0;
  std::int64_t connect_ms = 0;
};

class RequestTable {
 public:
  explicit RequestTable(std::uint32_t first_number) : floor_(first_number) {}

  // Requests without an answer.
  std::size_t size() const { return waiting_; }
  bool empty() const { return waiting_ == 0; }
  std::uint32_t floor() const { return floor_; }
  std::uint32_t next_number() const { return floor_ + static_cast<std::uint32_t>(slots_.size()); }

  // Appends a request, not sent yet, and gives its number.
  std::uint32_t add(Request&& request);
  // The same of a `next` for seqd_poll.
  std::uint32_t add_next(std::string_view name, void* tag, const Deadlines& deadlines);
  // The request of that number; null when it has an answer or there never was one. Valid until the
  // next call that is not const.
  const Request* find(std::uint32_t number) const {
    const Slot* found = slot(number);
    return found == nullptr ? nullptr : &found->request;
  }
  bool is_sent(std::uint32_t number) const { return find_sent(number) != nullptr; }
  // The same as find(), of one that this connection owes an answer to.
  const Request* find_sent(std::uint32_t number) const {
    const Slot* found = slot(number);
    return found != nullptr && found->state == Slot::State::sent ? &found->request : nullptr;
  }
  // Whether this connection owes an answer to any of them.
  bool any_sent() const { return sent_ != 0; }
  bool any_unsent() const { return sent_ != waiting_; }
  // The number has its answer, or no caller waits for it any more. It must be in the table.
  void finish(std::uint32_t number) {
    Slot& finished = slots_[number - floor_];
    if (is_unrepeatable(finished)) --inserts_;
    if (finished.state == Slot::State::sent) --sent_;
    finished.state = Slot::State::finished;
    --waiting_;
    if (number != floor_) return finished.clear();  // its texts are not needed any more
    do {
      slots_.pop_front();
      ++floor_;
    } while (!slots_.empty() && slots_.front().state == Slot::State::finished);
  }

  // The lowest number that is to be sent; 0 when there is none.
  std::uint32_t first_unsent() {
    unsent_from_ = std::max(unsent_from_, floor_);
    for (std::uint32_t next = next_number(); unsent_from_ < next; ++unsent_from_) {
      if (slots_[unsent_from_ - floor_].state == Slot::State::unsent) return unsent_from_;
    }
    return 0;
  }
  // The lowest number that is sent and may not be sent again: an insert without a unique field. 0
  // when there is none.
  std::uint32_t first_unrepeatable() const;
  // It must be unsent.
  void mark_sent(std::uint32_t number) {
    Slot& slot = slots_[number - floor_];
    slot.state = Slot::State::sent;
    ++sent_;
    if (is_unrepeatable(slot)) ++inserts_;
  }
  void mark_unsent(std::uint32_t number);  // it must be sent
  // The connection is gone: everything is to be sent again, in the same order.
  void mark_all_unsent();

 private:
  struct Slot {
    enum class State : std::uint8_t { unsent, sent, finished };
    State state = State::unsent;
    Request request;
    void clear() { request.clear(); }
  };
  // Null: it has an answer, or there never was one.
  const Slot* slot(std::uint32_t number) const {
    if (number < floor_ || number - floor_ >= slots_.size()) return nullptr;
    const Slot& found = slots_[number - floor_];
    return found.state == Slot::State::finished ? nullptr : &found;
  }

  static bool is_unrepeatable(const Slot& slot) {
    return slot.state == Slot::State::sent && slot.request.method == Request::Method::insert &&
           slot.request.unique().empty();
  }

  Ring<Slot> slots_;
  std::uint32_t floor_;            // number of slots_[0]
  std::uint32_t unsent_from_ = 0;  // no lower number is unsent
  std::size_t waiting_ = 0;        // slots that are not finished
  std::size_t sent_ = 0;           // slots that are sent
  std::size_t inserts_ = 0;        // of them, inserts
};

}  // namespace seqd::engine
