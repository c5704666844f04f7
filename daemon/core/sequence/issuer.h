// Issuer: issues the available IDs of one sequence and writes the log. An ID is issued only below a
// durable reservation; what was issued in a turn goes into the log with flush(), before the replies
// of that turn leave. Owned by its Sequence; loop thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/core/context/core_context.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/sequence/held_ranges.h"
#include "daemon/core/sequence/pending_issue.h"
#include "daemon/core/sequence/sequence_owner.h"

namespace seqd {

class Issuer {
 public:
  // `most_unsynced`: SequenceSettings::max_unsynced. The context outlives this.
  Issuer(const SequenceContext& context, const DefineSequence& definition,
         std::int64_t most_unsynced);

  const HeldRanges& held() const { return held_; }
  HeldRanges& held() { return held_; }             // the caller that removes a range records why
  std::int64_t issued() const { return issued_; }  // as far as the log has it
  std::optional<std::int64_t> last_issued() const {
    return last_issued_ == 0 ? std::nullopt : std::optional(last_issued_);
  }
  // End of what was issued or written off; see UsedBelow.
  std::int64_t used_below() const { return used_below_; }
  void note_written_off(std::int64_t end) { used_below_ = std::max(used_below_, end); }
  bool all_in_log() const { return pending_ == nullptr; }

  // One ID. False: none is issuable.
  bool issue_one(const Caller& caller, std::int64_t* id, IssueAs as) {
    if (!held_.take_one(id)) return false;
    note(*id, *id + 1, caller, as);
    return true;
  }
  // Adds `count` IDs to `runs`; so many have to be issuable.
  void issue(const Caller& caller, std::int64_t count, IssueAs as, std::vector<Run>* runs);
  void flush();
  // A block: up to `at_most` IDs from the first range, and the lease of that; one has to be
  // issuable. What it is granted to has to be in the log in this turn.
  std::pair<IdRange, Token> take_block(std::int64_t at_most);
  // [begin, end) of a block was issued, as the log has it already.
  void note_taken(std::int64_t begin, std::int64_t end, SessionId session);

  // Has more IDs made issuable where less than half a reservation is, or than `demand`: with those
  // that are `out` in blocks at most `most_unsynced`, but for what is demanded. When they are,
  // `reserved` is called, while this lives.
  template <typename Reserved>
  void reserve(std::int64_t out, std::int64_t demand, Reserved reserved) {
    // In most turns enough is reserved; the rest of the rule is in begin_reservation().
    if (held_.asked() > reserve_size_ / 2 && held_.asked() >= demand) return;
    if (!begin_reservation(out, demand)) return;
    context_.table.when_durable(sequence_, [this, reserved] {
      end_reservation();
      reserved();
    });
  }
  void set_most_unsynced(std::int64_t most_unsynced);

  void restore(const SequenceImage& image);

 private:
  void note(std::int64_t begin, std::int64_t end, const Caller& caller, IssueAs as);
  void write();
  void resize_reservation();
  bool begin_reservation(std::int64_t out, std::int64_t demand);
  void end_reservation();

  const SequenceContext& context_;
  // Issued in this turn, not in the log yet; null: nothing is. Of the SequenceBudgets.
  PendingIssue* pending_ = nullptr;
  const SequenceId sequence_;
  bool reserving_ = false;  // a reservation waits for the medium
  HeldRanges held_;
  std::int64_t issued_ = 0;
  std::int64_t used_below_;
  std::int64_t last_issued_ = 0;  // 0: none
  std::int64_t most_unsynced_;
  std::int64_t reserve_size_;
  std::int64_t reserved_at_ms_ = 0;
};

}  // namespace seqd
