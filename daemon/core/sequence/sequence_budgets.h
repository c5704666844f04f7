// SequenceBudgets: what all sequences share: the room of a snapshot (StateBounds), the places for
// requests that wait, of which a user gets a share, and what they issued in this turn; and the sums
// of their gaps. Owned by the SequenceTable; loop thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/fair_share.h"
#include "daemon/core/clients/replay_table.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/core/ranges/pending_issue.h"
#include "daemon/core/words/caller.h"

namespace seqd {

constexpr std::size_t kGapCauses = static_cast<std::size_t>(kLastGapCause) + 1;

class SequenceBudgets {
 public:
  // `replays` outlives this.
  SequenceBudgets(ReplayTable& replays, std::int64_t state_bytes, std::int64_t most_waiting)
      : replays_(replays),
        most_bytes_(state_bytes),
        waiting_(most_waiting, FairShare::kThreeQuarters) {}

  void set_limits(std::int64_t state_bytes, std::int64_t most_waiting) {
    most_bytes_ = state_bytes;
    waiting_.set_total(most_waiting);
  }

  // --- the room of a snapshot
  void scope_defined();
  void defined(const DefineSequence& definition);
  void forgotten(const DefineSequence& definition);
  // The log is to have `definition` instead; false: it has no room for that.
  bool redefine(const DefineSequence& former, const DefineSequence& definition);
  void form_defined(std::string_view form), form_forgotten(std::string_view form);
  void register_defined(std::string_view name);
  // Adds to the number of ranges beyond the two that each sequence is counted with.
  void count_extra_ranges(std::int64_t more) { extra_ranges_ += more; }
  std::int64_t state_bytes() const;  // in a snapshot, at most
  // Whether the log has room for another sequence with these texts.
  bool may_define(const DefineSequence& definition, bool named) const;
  // How many like this one, whose name is in no table.
  std::int64_t room_for(const DefineSequence& definition) const;
  // The same for a form of a name's texts, and for a register.
  bool may_define_form(std::string_view form) const;
  bool may_define_register(std::string_view name) const;
  // The same for a range more than a sequence is counted with.
  bool may_hold_another_range() const;
  bool may_hold_another_block() const;  // which is counted as two
  // Whether there is room to keep an issue of so many entries for that client.
  bool may_keep(ClientId client, std::int64_t entries) {
    return client == 0 || replays_.may_keep(client, entries);
  }

  // --- what was issued in this turn
  // A sequence begins to issue what is not in the log yet: where it keeps that until it is, at the
  // end of the turn at the latest. Empty.
  PendingIssue& issuing(SequenceId sequence, HistorySink* history);
  const std::vector<SequenceId>& issuing() const { return issuing_; }
  void issues_appended();

  // --- requests that wait
  // Whether another request of that user may wait: it gets a share of all sequences' places.
  bool may_wait(UserId user) const { return waiting_.allows(user, 1); }
  // A request of the caller waits, and does not wait any more.
  void waiting_began(SequenceId sequence, const Caller& caller);
  void waiting_ended(SequenceId sequence, const Caller& caller);
  std::int64_t waiting() const { return waiting_.used(); }  // requests, for all sequences
  std::int64_t waiting_places() const { return waiting_.total(); }
  std::int64_t waiting_of(UserId user) const { return waiting_.used_by(user); }
  std::vector<SequenceId> waited_for_by(SessionId session) const;

  // --- gaps
  // So many IDs became a gap.
  void gap_made(GapCause cause, std::int64_t ids) {
    gap_ids_.at(static_cast<std::size_t>(cause)) += ids;
  }
  // By GapCause: IDs that became a gap in this process, or by its start.
  const std::array<std::int64_t, kGapCauses>& gap_ids() const { return gap_ids_; }

 private:
  ReplayTable& replays_;
  std::int64_t most_bytes_;
  std::int64_t defined_bytes_ = 0;  // of scopes, sequences with their two ranges, forms, registers
  std::int64_t extra_ranges_ = 0;
  std::array<std::int64_t, kGapCauses> gap_ids_{};
  std::vector<SequenceId> issuing_;
  std::vector<std::unique_ptr<PendingIssue>>
      pending_;        // one each of issuing_; what is more is free
  FairShare waiting_;  // requests, by user
  std::map<std::pair<SessionId, SequenceId>, std::int64_t> waits_;  // how many requests
};

}  // namespace seqd
