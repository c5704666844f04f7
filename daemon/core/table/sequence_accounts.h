// SequenceAccounts: totals of all sequences without a walk over them: sums, which of them may end
// soon, how fast they issue, and how many names each user began to use. Owned by the SequenceTable;
// loop thread.
#pragma once

#include <cstdint>
#include <set>

#include "daemon/base/fair_share.h"
#include "daemon/core/rates/sequence_rates.h"
#include "daemon/core/sequence/sequence_budgets.h"
#include "daemon/core/sequence/sequence_notes.h"

namespace seqd {

class Sequence;

class SequenceAccounts {
 public:
  struct Sums {
    std::int64_t issued = 0;
    std::int64_t available = 0;
    std::int64_t stopped = 0;  // sequences that refuse requests
  };

  // The budgets, in which what sequences hold is counted, outlive this.
  explicit SequenceAccounts(SequenceBudgets& budgets) : budgets_(budgets) {}

  // What was issued before this process began is no news.
  void restored(Sequence& sequence);
  // It is removed: what it issued stays in issued_here().
  void forgotten(Sequence& sequence);
  // What a sequence issued and holds may have changed in this turn.
  void update(Sequence& sequence);

  // Those of which little may be left; a few more than Exhaustion::forecast() will say so of.
  const std::set<SequenceId>& ending() const { return ending_; }
  // As of the end of the last turn.
  const Sums& sums() const { return sums_; }
  // IDs issued by this process, also of sequences that are forgotten: it never falls.
  std::int64_t issued_here() const { return sums_.issued + forgotten_ - restored_; }
  // Every second. `out`: IDs in blocks, of all sequences.
  void sample_rates(std::int64_t now_ms, std::int64_t out) {
    rates_.step(now_ms, sums_.available, out);
  }
  SequenceRates& rates() { return rates_; }
  const SequenceRates& rates() const { return rates_; }
  // Whether that user may have another name that is in no table, where so many have room. Counted
  // since the process began: the log does not say who was first to use a name.
  bool may_make(UserId user, std::int64_t places) const;
  std::int64_t made_by(UserId user) const { return made_.used_by(user); }
  void made(const Sequence& sequence, UserId user);

 private:
  void count(Sequence& sequence);
  void add(const SequenceNotes::Counted& now, bool stopped, SequenceNotes& notes);

  SequenceBudgets& budgets_;
  Sums sums_;
  std::int64_t forgotten_ = 0;  // issued by sequences that are forgotten
  std::int64_t restored_ = 0;   // issued before this process began
  SequenceRates rates_;
  std::set<SequenceId> ending_;
  FairShare made_{0, FairShare::kThreeQuarters};  // names that are in no table, by user
};

}  // namespace seqd
