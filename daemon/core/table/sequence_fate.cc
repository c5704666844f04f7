#include "daemon/core/table/sequence_fate.h"

namespace seqd {
namespace {

SequenceFate fate_at_start(const FateFacts& facts) {
  if (facts.mismatch == Stop::none) return SequenceFate::goes_on;
  return facts.mismatch == Stop::elsewhere && facts.may_move ? SequenceFate::moves
                                                             : SequenceFate::stops;
}

SequenceFate fate_of_unconfigured(Stop mismatch) {
  if (mismatch == Stop::unconfigured) return SequenceFate::stays_unconfigured;
  return mismatch == Stop::none ? SequenceFate::goes_on : SequenceFate::stops;
}

SequenceFate fate_at_reload(const FateFacts& facts) {
  if (facts.stopped_by == Stop::unconfigured) return fate_of_unconfigured(facts.mismatch);
  if (facts.mismatch == Stop::unconfigured) return SequenceFate::needs_restart;
  const bool was_elsewhere = facts.stopped_by == Stop::elsewhere;
  if (was_elsewhere && facts.mismatch == Stop::none && !facts.store_refuses)
    return SequenceFate::needs_restart;
  if (!facts.as_it_runs) return SequenceFate::needs_restart;
  const bool stays = was_elsewhere || facts.stopped_by == Stop::changed;
  return stays && facts.mismatch != Stop::none ? SequenceFate::stays_stopped
                                               : SequenceFate::goes_on;
}

}  // namespace

SequenceFate find_fate(const FateFacts& facts) {
  return facts.at == FateFacts::At::start ? fate_at_start(facts) : fate_at_reload(facts);
}

}  // namespace seqd
