// Issuer: gives out the available IDs of one sequence and tells the log. An ID leaves only below a
// reservation that is durable; what was issued in a turn goes into the log with flush(), before the
// replies of that turn leave. Owned by its Sequence; loop thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/core/context.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/sequence/held_ranges.h"
#include "daemon/core/sequence/pending_issue.h"
#include "daemon/core/sequence/sequence_owner.h"

namespace seqd {

class Issuer {
 public:
  // `most_unsynced`: SequenceSettings::max_unsynced. `reserved` is called when more IDs are
  // issuable. The referenced objects outlive this.
  Issuer(const CoreContext& context, SequenceOwner& table, const DefineSequence& definition,
         std::int64_t most_unsynced, std::function<void()> reserved);

  const HeldRanges& held() const { return held_; }
  HeldRanges& held() { return held_; }             // who removes a range records why
  std::int64_t issued() const { return issued_; }  // as far as the log has it
  std::optional<std::int64_t> last_issued() const { return last_issued_; }
  // End of what was issued or written off; see UsedBelow.
  std::int64_t used_below() const { return used_below_; }
  void note_written_off(std::int64_t end) { used_below_ = std::max(used_below_, end); }
  bool all_in_log() const { return pending_.empty(); }

  // One ID. False: none is issuable.
  bool issue_one(const Caller& caller, std::int64_t* id, IssueAs as) {
    if (!held_.take_one(id)) return false;
    note(*id, *id + 1, caller, as);
    return true;
  }
  // Adds `count` IDs to `runs`; so many have to be issuable.
  void issue(const Caller& caller, std::int64_t count, IssueAs as, std::vector<Run>* runs);
  void flush();

  // Has more IDs made issuable where less than half a reservation is, or than `demand`.
  void reserve(std::int64_t demand);
  void set_most_unsynced(std::int64_t most_unsynced);

  void restore(const SequenceImage& image);

 private:
  void note(std::int64_t begin, std::int64_t end, const Caller& caller, IssueAs as);
  void resize_reservation();

  const CoreContext& context_;
  SequenceOwner& table_;
  const SequenceId sequence_;
  const std::function<void()> reserved_;
  HeldRanges held_;
  PendingIssue pending_;  // issued in this turn, not in the log yet
  std::int64_t issued_ = 0;
  std::int64_t used_below_;
  std::optional<std::int64_t> last_issued_;
  bool reserving_ = false;  // a reservation waits for the medium
  std::int64_t most_unsynced_;
  std::int64_t reserve_size_;
  std::int64_t reserved_at_ms_ = 0;
};

}  // namespace seqd
