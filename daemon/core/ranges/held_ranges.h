// HeldRanges: the ranges a sequence has available, in the order of issue, and how far each may be
// issued already.
//
// An ID may be issued only below a reservation that is durable. A reservation is requested (an
// entry of the log), and counts only after reservation_durable(); one is in flight at a time.
// Invariant, for each range: begin <= issuable_end <= asked_end <= end. A value; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/base/fifo.h"
#include "daemon/base/id_range.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

class HeldRanges {
 public:
  struct Held {
    IdRange range;  // what was not issued yet
    Token lease{};
    std::int64_t issuable_end = 0;
    std::int64_t asked_end = 0;
  };

  // Available IDs, reserved or not.
  std::int64_t available() const { return available_; }
  // IDs that may be issued now. All of them are in front of those that may not.
  std::int64_t issuable() const { return issuable_; }
  // Those of them in the first range.
  std::int64_t first_issuable() const {
    if (issuable_ == 0) return 0;
    return ranges_.front().issuable_end - ranges_.front().range.begin();
  }
  // IDs that may be issued now or as soon as the reservation in flight is durable.
  std::int64_t asked() const { return asked_; }
  std::optional<std::int64_t> next_id() const;
  // From how many ranges so many IDs are taken.
  std::int64_t pieces(std::int64_t count) const;
  const Fifo<Held>& ranges() const { return ranges_; }
  // Whether an ID of [begin, end) is available.
  bool has_some_of(std::int64_t begin, std::int64_t end) const;

  // Puts a range behind those available; nothing of it may be issued yet.
  void add(IdRange range, const Token& lease);

  // Puts IDs that may be issued in front of those available.
  void put_in_front(IdRange range, const Token& lease);

  // End of the range that the last IDs were taken from: an entry of the log stays within one.
  std::int64_t last_range_end() const { return last_range_end_; }

  // Takes one ID. False when none may be issued.
  bool take_one(std::int64_t* id) {
    if (issuable_ == 0) return false;
    Held& front = ranges_.front();
    *id = front.range.begin();
    last_range_end_ = front.range.end();
    static_cast<void>(front.range.take_front(1));
    taken(1);
    return true;
  }
  // Takes up to `at_most` consecutive IDs from the first range; not empty. Needs issuable() > 0 and
  // at_most > 0.
  IdRange take(std::int64_t at_most);

  // Widens the requested part until `wanted` IDs are requested, or all are. Returns the new end of
  // each widened range, for the log. Empty if nothing changes. Not while a reservation is in
  // flight.
  std::vector<std::int64_t> ask(std::int64_t wanted);
  // The reservation in flight is on the medium.
  void reservation_durable();

  // Removes the last range, as far as it was not issued. None when nothing is available.
  std::optional<Held> take_last();
  // Removes what is below `floor`, in order.
  std::vector<Held> take_below(std::int64_t floor);
  // The same of what is above `last`.
  std::vector<Held> take_above(std::int64_t last);
  // Gives all of it up (a gap), in order.
  Fifo<Held> surrender();

 private:
  // Of each range the part in [from, to), which is its front, its back or all of it.
  std::vector<Held> take_within(std::int64_t from, std::int64_t to);
  void taken(std::int64_t count) {
    available_ -= count;
    issuable_ -= count;
    asked_ -= count;
    if (ranges_.front().range.empty()) ranges_.pop_front();
  }

  Fifo<Held> ranges_;
  std::int64_t available_ = 0;
  std::int64_t issuable_ = 0;
  std::int64_t asked_ = 0;
  std::int64_t last_range_end_ = 0;
};

}  // namespace seqd
