// The drains of sequences: a part of sequence_table.h.
#include <utility>

#include "daemon/core/table/sequence_moves.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/core/text/period.h"

namespace seqd {
namespace {

// Of a sequence that is not configured the remainder is kept, for the day on which it is again.
// That of a period may not be, beside those of another unit.
bool is_orphan(const Sequence& sequence) {
  return sequence.stop() == Stop::unconfigured && !period_of(sequence.name()).empty();
}

// Whether the configuration has another counter for it, to which it moves when nothing is left.
bool is_to_move(const Sequence& sequence, const SequenceSettings* configured) {
  const DefineSequence definition = sequence.definition();
  return sequence.stop() == Stop::elsewhere && configured != nullptr &&
         may_move(definition, *configured) &&
         check_configured(definition, sequence.scope(), configured).by != Stop::none;
}

// Without the store: all is a gap.
Status give_up(const CoreContext& context, Sequence& sequence, const char* why, Drain::Done done) {
  if (!context.log.accepting())
    return {ErrorCode::UNAVAILABLE, "the log waits for the medium; try again"};
  const DrainReport report = sequence.give_up(why, GapCause::drained);
  context.timers.schedule(0, [done = std::move(done), report] { done(report); });
  return {};
}

}  // namespace

Status SequenceTable::drain(SequenceId id, std::int64_t timeout_ms, Drain::Done done, bool remove) {
  Sequence& sequence = at(id);
  const StoreScope& scope = sequence.scope();
  if (scope.refuses() && refusals_.end().ok()) {
    return give_up(context_, sequence,
                   scope.changed() ? "their database is not configured any more"
                                   : "their database was restored from an older copy",
                   std::move(done));
  }
  if (!refusals_.end().ok()) return refusals_.end();
  const bool is_gone = remove && sequence.stop() == Stop::unconfigured;
  const bool leaves = is_orphan(sequence) || is_gone;
  if (is_to_move(sequence, settings_.find(sequence.name())))
    return give_up(context_, sequence, "their counter is not configured any more", std::move(done));
  if (!sequence.is_configured() && !leaves) return sequence.stopped();
  const auto leave = [&] {
    return give_up(context_, sequence, "their sequence is not configured any more",
                   std::move(done));
  };
  // There is nothing to compare, or no store to compare it with.
  if (leaves && (sequence.holds_nothing() || scope.store() == nullptr)) return leave();
  const Status claimed = scope.check_claimed();
  // Right after a start the store has not answered yet: a drain waits for that.
  const bool waits =
      sequence.is_configured() && scope.store() != nullptr && scope.last_error().ok();
  if (!claimed.ok() && !waits) return claimed;
  if (leaves) return leave();
  sequence.drain(context_.clock.monotonic_ms() + timeout_ms,
                 [&scope, done = std::move(done)](DrainReport report) {
                   if (report.available > 0 && report.why.empty())
                     report.why = scope.check_claimed().text();
                   done(report);
                 });
  return {};
}

}  // namespace seqd
