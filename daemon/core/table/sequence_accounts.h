// SequenceAccounts: totals of all sequences without a walk over them: sums, waiting requests by
// user, and how much of a snapshot they may take (StateBounds). Owned by the SequenceTable; loop
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/fair_share.h"
#include "daemon/core/caller.h"
#include "daemon/core/log/replay_table.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/core/rates/sequence_rates.h"
#include "daemon/core/sequence/pending_issue.h"

namespace seqd {

class Sequence;

constexpr std::size_t kGapCauses = static_cast<std::size_t>(kLastGapCause) + 1;

class SequenceAccounts {
 public:
  struct Held {
    std::int64_t issued = 0;
    std::int64_t available = 0;
    // Ranges available or being leased, above those that every sequence is counted with.
    std::int64_t extra_ranges = 0;
  };
  struct Sums : Held {
    std::int64_t stopped = 0;  // sequences that refuse requests
  };

  // What the table notes of one sequence, which keeps it. Small: a host may have many sequences.
  struct Notes {
    Held counted;                  // its share of sums()
    bool stopped = false;          // the same
    bool ending = false;           // it is in ending()
    bool plain_name = false;       // the log knows its name, and nothing else of that
    bool made = false;             // it has a place of made_,
    UserId made_by = 0;            // which is that user's
    std::uint32_t rate_place = 0;  // in rates(), from 1 on; 0: it is not noted there
  };

  SequenceAccounts(ReplayTable& replays, std::int64_t state_bytes, std::int64_t most_waiting)
      : replays_(replays), most_bytes_(state_bytes), waiting_(most_waiting, kWaitingFactor) {}

  void set_limits(std::int64_t state_bytes, std::int64_t most_waiting) {
    most_bytes_ = state_bytes;
    waiting_.set_total(most_waiting);
  }
  void scope_defined();
  void defined(const DefineSequence& definition);
  // The log is to have `definition` instead; false: it has no room for that.
  bool redefine(const DefineSequence& former, const DefineSequence& definition);
  // What was issued before this process began is no news.
  void restored(Sequence&sequence), forgotten(Sequence&sequence);
  void form_defined(std::string_view form), form_forgotten(std::string_view form);
  // What a sequence issued and holds may have changed in this turn.
  void update(Sequence& sequence);

  // Those of which little may be left; a few more than Exhaustion::forecast() will say so of.
  const std::set<SequenceId>& ending() const { return ending_; }
  // As of the end of the last turn.
  const Sums& sums() const { return sums_; }
  // IDs issued by this process, also of sequences that are forgotten: it never falls.
  std::int64_t issued_here() const { return sums_.issued + forgotten_ - restored_; }
  // So many IDs became a gap.
  void gap_made(GapCause cause, std::int64_t ids) {
    gap_ids_.at(static_cast<std::size_t>(cause)) += ids;
  }
  // By GapCause: IDs that became a gap in this process, or by its start.
  const std::array<std::int64_t, kGapCauses>& gap_ids() const { return gap_ids_; }
  // Every second. `out`: IDs in blocks, of all sequences.
  void sample_rates(std::int64_t now_ms, std::int64_t out) {
    rates_.step(now_ms, sums_.available, out);
  }
  SequenceRates& rates() { return rates_; }
  const SequenceRates& rates() const { return rates_; }
  std::int64_t state_bytes() const;  // in a snapshot, at most
  // Whether the log has room for another sequence with these texts.
  bool may_define(const DefineSequence& definition, bool named) const;
  // How many like this one, whose name is in no table.
  std::int64_t room_for(const DefineSequence& definition) const;
  // Whether that user may have another name that is in no table, where so many have room. Counted
  // since the process began: the log does not say who was first to use a name.
  bool may_make(UserId user, std::int64_t places) const;
  std::int64_t made_by(UserId user) const { return made_.used_by(user); }
  void made(const Sequence& sequence, UserId user);
  // The same for a form of a name's texts.
  bool may_define_form(std::string_view form) const;
  // The same for a range more than a sequence is counted with.
  bool may_hold_another_range() const;
  bool may_hold_another_block() const;  // which is counted as two
  // Whether there is room to keep an issue of so many entries for that client.
  bool may_keep(ClientId client, std::int64_t entries) {
    return client == 0 || replays_.may_keep(client, entries);
  }

  // A sequence begins to issue what is not in the log yet: where it keeps that until it is, at the
  // end of the turn at the latest. Empty.
  PendingIssue& issuing(SequenceId sequence, HistorySink* history);
  const std::vector<SequenceId>& issuing() const { return issuing_; }
  void issues_flushed();

  // Whether another request of that user may wait: it gets a share of all sequences' places.
  bool may_wait(UserId user) const { return waiting_.allows(user, 1); }
  // A request of the caller waits, and does not wait any more.
  void waiting_began(SequenceId sequence, const Caller& caller);
  void waiting_ended(SequenceId sequence, const Caller& caller);
  std::int64_t waiting() const { return waiting_.used(); }  // requests, for all sequences
  std::int64_t waiting_places() const { return waiting_.total(); }
  std::int64_t waiting_of(UserId user) const { return waiting_.used_by(user); }
  std::vector<SequenceId> waited_for_by(SessionId session) const;

 private:
  // A user alone may have three quarters of the requests that wait.
  static constexpr std::int64_t kWaitingFactor = 3;
  static constexpr std::int64_t kMadeFactor = 3;  // the same of the names that are free

  static Held held_by(const Sequence& sequence);
  void count(Sequence& sequence);
  void add(const Held& now, bool stopped, Notes& notes);

  ReplayTable& replays_;
  std::int64_t most_bytes_;
  std::int64_t defined_bytes_ = 0;  // of scopes, sequences with the ranges included, forms
  Sums sums_;
  std::int64_t forgotten_ = 0;  // issued by sequences that are forgotten
  std::int64_t restored_ = 0;   // issued before this process began
  std::array<std::int64_t, kGapCauses> gap_ids_{};
  SequenceRates rates_;
  std::set<SequenceId> ending_;
  std::vector<SequenceId> issuing_;
  std::vector<std::unique_ptr<PendingIssue>>
      pending_;                     // one each of issuing_; what is more is free
  FairShare waiting_;               // requests, by user
  FairShare made_{0, kMadeFactor};  // names that are in no table, by user
  std::map<std::pair<SessionId, SequenceId>, std::int64_t> waits_;  // how many requests
};

}  // namespace seqd
