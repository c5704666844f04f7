#include "daemon/main/state/witness_keeper.h"

#include <utility>

namespace seqd {

void WitnessKeeper::check() {
  check_witness();
  // Without a witness nothing beside it is of use, and one report is enough.
  if (!lost_ && pages_ != nullptr) check_index();
}

void WitnessKeeper::check_index() {
  const Result<bool> made_again = pages_->keep_index();
  const bool was_lost = std::exchange(index_lost_, !made_again.ok());
  if (!made_again.ok()) {
    if (was_lost) return;
    events_.raise({EventKind::state_warning,
                   "the index of the pages of blocks was removed from " + directory_.path() +
                       " and cannot be recreated there (" + made_again.status().to_string() +
                       "): a kill -9 would cost the IDs in blocks. Restart seqd, which loses "
                       "nothing",
                   {}});
  } else if (*made_again) {
    events_.raise({EventKind::state_warning,
                   "the index of the pages of blocks was removed from " + directory_.path() +
                       " while seqd was running, and was recreated. Find out what cleans up "
                       "there, or set witness_dir",
                   {}});
  }
}

void WitnessKeeper::check_witness() {
  const Result<Witness::Kept> kept = log_.keep_witness();
  const bool was_lost = std::exchange(lost_, !kept.ok());
  if (!kept.ok()) {
    if (was_lost) return;
    events_.raise({EventKind::state_warning,
                   "the witness was removed from " + directory_.path() +
                       " and cannot be recreated there (" + kept.status().to_string() +
                       "): a kill -9 would cost the available IDs. Restart seqd, which loses "
                       "nothing",
                   {}});
  } else if (*kept == Witness::Kept::made_again) {
    events_.raise({EventKind::state_warning,
                   "the witness was removed from " + directory_.path() +
                       " while seqd was running, and was recreated. Find out what cleans up "
                       "there, or set witness_dir",
                   {}});
  }
}

}  // namespace seqd
