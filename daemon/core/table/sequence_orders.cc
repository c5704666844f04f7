#include "daemon/core/table/sequence_orders.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_state.h"
#include "daemon/core/stores/sequence_moves.h"
#include "daemon/core/text/period_name.h"

namespace seqd {
namespace {

constexpr std::int64_t kRemoveMs = 5;

// The value to raise the counter to for `next_id`; 0: above all that was ever granted.
Result<std::int64_t> advance_target(const Sequence& sequence, std::int64_t next_id) {
  // Refused for another reason than its counter, which an advance cannot repair.
  if (!is_configured(sequence)) return sequence.stop_error();
  // The end of what was granted to this host is about to change. A return to an older copy moves
  // nothing: a return of the last process is not repeated before the store continues, and then it
  // is abandoned.
  const LeaseSlot& slot = sequence.slot();
  const bool returns = slot.returning() > 0 && (slot.in_flight() || !sequence.scope().restored());
  if (returns || sequence.draining().active()) {
    return Status(ErrorCode::UNAVAILABLE,
                  "\"" + sequence.name() + "\" is being drained; try again later");
  }
  const std::int64_t lowest = std::max<std::int64_t>(sequence.definition().leased_below(), 1);
  const std::int64_t highest = sequence.settings().last_ordinal();
  if (next_id == 0) next_id = lowest;
  if (next_id < lowest) {
    return Status(ErrorCode::BAD_REQUEST,
                  std::to_string(next_id) + " is below " + std::to_string(lowest) +
                      ", up to which \"" + sequence.name() + "\" was leased by this host already");
  }
  // Where the last ID is leased already, the counter may be behind it.
  if (next_id > std::max(highest, lowest)) {
    return Status(ErrorCode::BAD_REQUEST, std::to_string(next_id) + " is above max_value of \"" +
                                              sequence.name() + "\", " + std::to_string(highest));
  }
  return next_id;
}

// Of a sequence that is not configured the remainder is kept, for the day on which it is again.
// That of a period may not be, beside those of another unit.
bool is_orphan(const Sequence& sequence) {
  return sequence.stop_cause() == StopCause::unconfigured && !period_of(sequence.name()).empty();
}

// Whether a start moves it to another counter once nothing of its own is open (SequenceFate).
bool is_to_move(const Sequence& sequence, const SequenceSettings* configured) {
  const DefineSequence definition = sequence.definition().logged();
  return sequence.stop_cause() == StopCause::elsewhere && configured != nullptr &&
         may_move(definition, *configured) &&
         check_configured(definition, sequence.scope(), configured).by != StopCause::none;
}

// Ranges that are parked at its counter may have been issued: it moved there, or was set back.
bool has_to_drop_parked(const Sequence& sequence) {
  const bool was_set_back =
      sequence.stop_cause() == StopCause::regressed && sequence.settings().reuse == Reuse::parked;
  return was_set_back || may_meet_parked(sequence);
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

void SequenceOrders::advance(SequenceId id, std::int64_t next_id, bool withdraw,
                             std::function<void(Result<std::int64_t>)> done) {
  Sequence& sequence = around_.sequences.at(id);
  LeaseStore* const store = sequence.scope().store();
  const bool drops_parked = withdraw || has_to_drop_parked(sequence);
  Result<std::int64_t> wanted = advance_target(sequence, next_id);
  if (wanted.ok() && store == nullptr) {
    wanted = Status(ErrorCode::CONFIG, "store \"" + sequence.scope().store_name() +
                                           "\" is not running; configure it and restart");
  }
  if (!wanted.ok()) {
    around_.core.timers.schedule(0, [done = std::move(done), wanted] { done(wanted); });
    return;
  }
  auto answer = [this, id, drops_parked, done = std::move(done)](Result<std::int64_t> reached) {
    ASSERT(around_.sequences.contains(id));  // an advance is under way until here
    Sequence& advanced = around_.sequences.at(id);
    // A reload or a lease has found that meanwhile, and the parked ranges are still there.
    if (reached.ok() && !drops_parked && has_to_drop_parked(advanced))
      reached = Status(
          ErrorCode::UNAVAILABLE,
          "\"" + advanced.name() + "\" was reconfigured or stopped meanwhile; advance it again");
    // Only now: where the advance fails, the log still has the former counter, and no parked range
    // is leased.
    if (const Status moved = reached.ok() ? advanced.definition().record_move() : Status();
        !moved.ok())
      reached = moved;
    advanced.end_advance(reached);
    if (!drops_parked || !reached.ok()) return done(std::move(reached));
    around_.scopes.read_floor(id, [reached, done](const Status& seen) {
      done(seen.ok() ? reached : Result<std::int64_t>(seen));
    });
  };
  ASSERT(*wanted >= 1);
  sequence.begin_advance();
  store->advance({sequence.definition().binding(), *wanted, drops_parked},
                 alive_.guard(std::move(answer)));
}

// By the first row that holds:
//
//   the daemon or its log ends                  that error
//   the store refuses                           all is a gap
//   it is to move at a restart                  all is a gap
//   stopped, and may not be removed             why it is stopped
//   unconfigured; holds nothing, or no store    all is a gap
//   not claimed, and no answer is to come       why it is not claimed
//   unconfigured                                all is a gap
//   else                                        returned to the store
Status SequenceOrders::drain(SequenceId id, std::int64_t timeout_ms, Drain::Done done,
                             bool remove) {
  Sequence& sequence = around_.sequences.at(id);
  const StoreScope& scope = sequence.scope();
  if (!around_.refusals.end().ok()) return around_.refusals.end();
  if (scope.refuses()) {
    return give_up(around_.core, sequence,
                   scope.changed() ? "their database is not configured any more"
                                   : "their database was restored from an older copy",
                   std::move(done));
  }
  const bool is_removed = remove && sequence.stop_cause() == StopCause::unconfigured;
  const bool becomes_gaps = is_orphan(sequence) || is_removed;
  if (is_to_move(sequence, around_.settings.find(sequence.name())))
    return give_up(around_.core, sequence, "their counter is not configured any more",
                   std::move(done));
  if (!is_configured(sequence) && !becomes_gaps) return sequence.stop_error();
  const auto make_gaps = [&] {
    return give_up(around_.core, sequence, "their sequence is not configured any more",
                   std::move(done));
  };
  // There is nothing to compare, or no store to compare it with.
  if (becomes_gaps && (holds_nothing(sequence) || scope.store() == nullptr)) return make_gaps();
  const Status claimed = scope.check_claimed();
  // Right after a start the store has not answered yet: a drain waits for that.
  const bool may_wait =
      is_configured(sequence) && scope.store() != nullptr && scope.last_error().ok();
  if (!claimed.ok() && !may_wait) return claimed;
  if (becomes_gaps) return make_gaps();
  sequence.drain(around_.core.clock.monotonic_ms() + timeout_ms,
                 [&scope, done = std::move(done)](DrainReport report) {
                   if (report.available > 0 && report.why.empty())
                     report.why = scope.check_claimed().text();
                   done(report);
                 });
  return {};
}

// In another turn: the drain before it has ended in this one.
void SequenceOrders::remove(SequenceId id, std::function<void(const Status&)> done) {
  const auto later = [this, id, done = std::move(done)] {
    if (!around_.sequences.contains(id)) return done({});
    Sequence& sequence = around_.sequences.at(id);
    // A drain of everything counts on what there was when it began.
    if (!around_.refusals.any().ok()) return done(around_.refusals.any());
    if (!period_of(sequence.name()).empty())
      return done({ErrorCode::BAD_REQUEST,
                   "\"" + sequence.name() +
                       "\" is of a period, which is removed by itself when it is over"});
    if (!around_.core.log.accepting() || !forget_(sequence))
      return done({ErrorCode::UNAVAILABLE,
                   "\"" + sequence.name() +
                       "\" is in use: IDs are available or out, an operation is in progress, a "
                       "request waits, or a client may repeat a request; try again later"});
    done({});
  };
  around_.core.timers.schedule(kRemoveMs, alive_.guard(later));
}

}  // namespace seqd
