#include "daemon/core/table/sequence_accounts.h"

#include <algorithm>

#include "daemon/core/sequence/sequence.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {
namespace {

SequenceNotes::Counted held_by(const Sequence& sequence) {
  // A block is a range and its grant, and what comes back of it is one.
  const std::int64_t ranges = static_cast<std::int64_t>(sequence.held().ranges().size()) +
                              (sequence.slot().leasing() ? 1 : 0) + 2 * sequence.blocks().count();
  return {sequence.totals().issued, sequence.available(),
          std::max<std::int64_t>(ranges - StateBounds::kRangesIncluded, 0)};
}

}  // namespace

void SequenceAccounts::restored(Sequence& sequence) {
  count(sequence);
  restored_ += sequence.totals().issued;
}

void SequenceAccounts::forgotten(Sequence& sequence) {
  forgotten_ += sequence.notes().counted.issued;
  add({}, false, sequence.notes());
  rates_.dropped(sequence);
  if (sequence.notes().made) made_.release(sequence.notes().made_by, 1);
  ending_.erase(sequence.id());
}

void SequenceAccounts::update(Sequence& sequence) {
  const SequenceNotes& notes = sequence.notes();
  if (notes.rate_place == 0 && (sequence.totals().issued != notes.counted.issued ||
                                sequence.waiters().size() > 0 || sequence.waiters().short_of() > 0))
    rates_.note(sequence, notes.counted.issued);
  count(sequence);
}

void SequenceAccounts::count(Sequence& sequence) {
  SequenceNotes& notes = sequence.notes();
  add(held_by(sequence), is_failing(sequence), notes);
  if (notes.ending == sequence.exhaustion().may_end_soon()) return;
  notes.ending = !notes.ending;
  if (notes.ending) {
    ending_.insert(sequence.id());
  } else {
    ending_.erase(sequence.id());
  }
}

void SequenceAccounts::add(const SequenceNotes::Counted& now, bool stopped, SequenceNotes& notes) {
  sums_.issued += now.issued - notes.counted.issued;
  sums_.available += now.available - notes.counted.available;
  sums_.stopped += (stopped ? 1 : 0) - (notes.stopped ? 1 : 0);
  budgets_.count_extra_ranges(now.extra_ranges - notes.counted.extra_ranges);
  notes.counted = now;
  notes.stopped = stopped;
}

bool SequenceAccounts::may_make(UserId user, std::int64_t places) const {
  return made_.allows_of(user, 1, places);
}

void SequenceAccounts::made(const Sequence& sequence, UserId user) {
  sequence.notes().made = true;
  sequence.notes().made_by = user;
  made_.take(user, 1);
}

}  // namespace seqd
