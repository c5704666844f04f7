// Issuer: the available IDs of one sequence, and the totals of what became of all it ever had. It
// issues them and writes the log. An ID is issued only below a durable reservation; what was issued
// in a turn goes into the log with flush(), before the replies of that turn leave. Owned by its
// Sequence; loop thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/context/core_context.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/ranges/held_ranges.h"
#include "daemon/core/ranges/pending_issue.h"
#include "daemon/core/sequence/sequence_definition.h"
#include "daemon/core/sequence/sequence_owner.h"

namespace seqd {

class Issuer {
 public:
  // The definition outlives this.
  explicit Issuer(SequenceDefinition& definition);

  const HeldRanges& held() const { return held_; }
  HeldRanges& held() { return held_; }  // the caller that removes a range records why
  // As far as the log has it.
  const SequenceTotals& totals() const { return totals_; }
  std::optional<std::int64_t> last_issued() const {
    return last_issued_ == 0 ? std::nullopt : std::optional(last_issued_);
  }
  // See SequenceDefinition.
  std::int64_t used_below() const { return definition_.used_below(); }
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

  // Reserves more if less than half of a reservation is left, or less than `demand`. Together with
  // what is `out` in blocks at most max_unsynced, unless the demand is higher. Once it is durable,
  // `reserved` is called, while this lives.
  template <typename Reserved>
  void reserve(std::int64_t out, std::int64_t demand, Reserved reserved) {
    // In most turns enough is reserved; the rest of the rule is in begin_reservation().
    if (held_.asked() > reserve_size_ / 2 && held_.asked() >= demand) return;
    if (!begin_reservation(out, demand)) return;
    context().table.when_durable(definition_.id(), [this, reserved] {
      end_reservation();
      reserved();
    });
  }
  // The bounds of reservations, SequenceSettings::max_unsynced, may have changed.
  void apply_settings();

  // The log has these already: a range is available, one was returned, one became a gap, or a lease
  // cannot be traced.
  void note_leased(IdRange range, const Token& lease);
  void note_returned(std::int64_t count) { totals_.returned += count; }
  void note_gap(const GapMade& gap, const Token& lease, const std::string& why);
  void note_untraceable() { ++totals_.unknown; }
  // What is left of a range that was available is a gap. What was issued of it is in the log.
  void write_off(const HeldRanges::Held& held, GapCause cause, const std::string& why);
  // Writes off what is below the floor or above the maximum.
  void withdraw(std::int64_t floor);

  void restore(const SequenceImage& image);

 private:
  const SequenceContext& context() const { return definition_.context(); }
  void note(std::int64_t begin, std::int64_t end, const Caller& caller, IssueAs as);
  void write();
  void resize_reservation();
  bool begin_reservation(std::int64_t out, std::int64_t demand);
  void end_reservation();

  // Issued in this turn, not in the log yet; null: nothing is. Of the SequenceBudgets.
  PendingIssue* pending_ = nullptr;
  SequenceDefinition& definition_;
  bool reserving_ = false;  // a reservation waits for the medium
  HeldRanges held_;
  SequenceTotals totals_;
  std::int64_t last_issued_ = 0;  // 0: none
  std::int64_t reserve_size_;
  std::int64_t reserved_at_ms_ = 0;
};

}  // namespace seqd
