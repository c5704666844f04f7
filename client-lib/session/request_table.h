// RequestTable: the requests of one handle that have no answer yet, by number. Numbers rise from 1
// and never mean another request, so that the daemon can recognise a repeat. Owned by a Session;
// one thread.
//
// Most programs take IDs of one sequence, so the table keeps its name once for all `next` requests,
// until no request needs it. A `next` for any other name has it in the request.
//
// Invariant: the requests lie in order of their numbers; the first one, when there is any, has no
// answer; so first_unanswered() is the lowest number without one, which an `ack` contains.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "client-lib/session/request.h"
#include "client-lib/session/ring.h"

namespace seqd::engine {

class RequestTable {
 public:
  explicit RequestTable(std::uint32_t first_number) : first_(first_number) {}

  // Requests without an answer.
  std::size_t size() const { return waiting_; }
  bool empty() const { return waiting_ == 0; }
  std::uint32_t first_unanswered() const { return first_; }
  std::uint32_t next_number() const { return first_ + static_cast<std::uint32_t>(slots_.size()); }

  // Appends a request, not sent yet, and gives its number. A name of a `next` is not empty.
  std::uint32_t add(Request&& request);
  std::uint32_t add_next(std::string_view name, const NextRequest& next);
  // Whether the kept name is that one, which ends with a zero byte.
  bool keeps(const char* name) const {
    return !kept_name_.empty() && std::strcmp(kept_name_.c_str(), name) == 0;
  }
  // add_next() for the kept name.
  std::uint32_t add_kept(const NextRequest& next) {
    Slot& slot = slots_.prepare_back();
    slot.state = Slot::State::unsent;
    slot.kept = true;
    fill(slot.request, next);
    slots_.commit_back();
    ++kept_;
    ++waiting_;
    return next_number() - 1;
  }

  // The request of that number; null when it has an answer or there never was one. Valid until the
  // next call that is not const.
  const Request* find(std::uint32_t number) const {
    const Slot* found = slot(number);
    return found == nullptr ? nullptr : &found->request;
  }
  // The name in that request, which must be in the table, as long valid; whether it is kept.
  const std::string& name(std::uint32_t number) const {
    const Slot& found = slots_[number - first_];
    return found.kept ? kept_name_ : found.request.name;
  }
  bool is_kept(std::uint32_t number) const { return slots_[number - first_].kept; }
  bool is_sent(std::uint32_t number) const { return find_sent(number) != nullptr; }
  // The same as find(), of one that this connection owes an answer to.
  const Request* find_sent(std::uint32_t number) const {
    const Slot* found = slot(number);
    return found != nullptr && found->state == Slot::State::sent ? &found->request : nullptr;
  }
  bool any_sent() const { return sent_ != 0; }  // this connection owes an answer
  bool any_unsent() const { return sent_ != waiting_; }
  // The number has its answer, or no caller waits for it any more. It must be in the table.
  void finish(std::uint32_t number) {
    Slot& finished = slots_[number - first_];
    if (finished.state == Slot::State::sent) {
      if (is_unrepeatable(finished)) --unrepeatable_;
      --sent_;
    }
    finished.state = Slot::State::finished;
    --waiting_;
    if (finished.kept) --kept_;
    if (number != first_) return finished.clear();  // its texts are not needed any more
    do {
      slots_.pop_front();
      ++first_;
    } while (!slots_.empty() && slots_.front().state == Slot::State::finished);
  }

  // The lowest number that is to be sent; 0 when there is none.
  std::uint32_t first_unsent() {
    if (!any_unsent()) return 0;
    unsent_from_ = std::max(unsent_from_, first_);
    while (slots_[unsent_from_ - first_].state != Slot::State::unsent) ++unsent_from_;
    return unsent_from_;
  }
  // The lowest number that is sent and may not be sent again: an insert without a unique field. 0
  // when there is none.
  std::uint32_t first_unrepeatable() const;
  // It must be unsent.
  void mark_sent(std::uint32_t number);
  // Marks as sent, from `number` on, which is unsent, requests for the kept name with one deadline
  // that follow each other. How many: at most `most`, and 0 if `number` is not for that name.
  std::size_t mark_run_sent(std::uint32_t number, std::size_t most);
  void mark_unsent(std::uint32_t number);  // it must be sent
  // The connection is gone: everything is to be sent again, in the same order.
  void mark_all_unsent();

 private:
  struct Slot {
    enum class State : std::uint8_t { unsent, sent, finished };
    State state = State::unsent;
    bool kept = false;  // a `next` for the kept name; the request has none then
    Request request;
    void clear() {
      if (!kept) request.clear();
    }
  };
  // Null: it has an answer, or there never was one.
  const Slot* slot(std::uint32_t number) const {
    if (number < first_ || number - first_ >= slots_.size()) return nullptr;
    const Slot& found = slots_[number - first_];
    return found.state == Slot::State::finished ? nullptr : &found;
  }

  static void fill(Request& request, const NextRequest& next) {
    request.method = Request::Method::next;
    request.synchronous = next.synchronous;
    request.sent_before = false;
    request.tag = next.tag;
    request.deadline_ms = next.deadline_ms;
    request.connect_deadline_ms = next.connect_deadline_ms;
  }
  static bool is_unrepeatable(const Slot& slot) {
    return slot.state == Slot::State::sent && slot.request.method == Request::Method::insert &&
           slot.request.unique().empty();
  }

  Ring<Slot> slots_;
  std::string kept_name_;          // empty: none
  std::size_t kept_ = 0;           // slots that need it and are not finished
  std::uint32_t first_;            // number of slots_[0]
  std::uint32_t unsent_from_ = 0;  // no lower number is unsent
  std::size_t waiting_ = 0;        // slots that are not finished
  std::size_t sent_ = 0;           // slots that are sent
  std::size_t unrepeatable_ = 0;   // of them, not to be sent again
};

}  // namespace seqd::engine
