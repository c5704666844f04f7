#include "daemon/core/table/sequence_fate.h"

namespace seqd {
namespace {

SequenceFate fate_at_start(const FateFacts& facts) {
  if (facts.mismatch == StopCause::none) return SequenceFate::goes_on;
  return facts.mismatch == StopCause::elsewhere && facts.may_move ? SequenceFate::moves
                                                                  : SequenceFate::stops;
}

SequenceFate fate_of_unconfigured(StopCause mismatch) {
  if (mismatch == StopCause::unconfigured) return SequenceFate::stays_unconfigured;
  return mismatch == StopCause::none ? SequenceFate::goes_on : SequenceFate::stops;
}

SequenceFate fate_at_reload(const FateFacts& facts) {
  if (facts.stopped_by == StopCause::unconfigured) return fate_of_unconfigured(facts.mismatch);
  if (facts.mismatch == StopCause::unconfigured) return SequenceFate::needs_restart;
  const bool was_elsewhere = facts.stopped_by == StopCause::elsewhere;
  if (was_elsewhere && facts.mismatch == StopCause::none && !facts.store_refuses)
    return SequenceFate::needs_restart;
  if (!facts.as_it_runs) return SequenceFate::needs_restart;
  const bool stays = was_elsewhere || facts.stopped_by == StopCause::changed;
  return stays && facts.mismatch != StopCause::none ? SequenceFate::stays_stopped
                                                    : SequenceFate::goes_on;
}

}  // namespace

SequenceFate find_fate(const FateFacts& facts) {
  return facts.at == FateFacts::At::start ? fate_at_start(facts) : fate_at_reload(facts);
}

}  // namespace seqd
