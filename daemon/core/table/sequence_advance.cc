// The counters of sequences: where they are raised.
#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {
namespace {

// The value to raise the counter to for `next_id`; 0: above all that was ever granted.
Result<std::int64_t> advance_target(const Sequence& sequence, std::int64_t next_id) {
  // Refused for another reason than its counter, which an advance cannot repair.
  if (!sequence.is_configured()) return sequence.stopped();
  // The end of what was granted to this host is about to change. A return to an older copy moves
  // nothing: a return of the last process is not repeated before the store continues, and then it
  // is abandoned.
  const Drain& drain = sequence.draining();
  if (sequence.scope().restored() ? drain.active() || drain.in_flight() : drain.blocks_leases()) {
    return Status(ErrorCode::UNAVAILABLE,
                  "\"" + sequence.name() + "\" is being drained; try again later");
  }
  const std::int64_t lowest = std::max<std::int64_t>(sequence.high_water(), 1);
  const std::int64_t highest = sequence.settings().last_position();
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

}  // namespace

void SequenceTable::advance(SequenceId id, std::int64_t next_id, bool withdraw,
                            std::function<void(Result<std::int64_t>)> done) {
  Sequence& sequence = at(id);
  LeaseStore* const store = sequence.scope().store();
  const bool drops_parked = withdraw || sequence.may_meet_parked();
  // The mark that it is to be raised above may change with the counter.
  const Status moved = sequence.record_move();
  Result<std::int64_t> wanted = moved.ok() ? advance_target(sequence, next_id) : moved;
  if (wanted.ok() && store == nullptr) {
    wanted = Status(ErrorCode::CONFIG, "store \"" + sequence.scope().store_name() +
                                           "\" is not running; configure it and restart");
  }
  if (!wanted.ok()) {
    context_.timers.schedule(0, [done = std::move(done), wanted] { done(wanted); });
    return;
  }
  auto answer = [this, id, drops_parked, done = std::move(done)](Result<std::int64_t> reached) {
    ASSERT(sequences_.contains(id));  // an advance is under way until here
    at(id).end_advance(reached);
    if (!drops_parked || !reached.ok()) return done(std::move(reached));
    scopes_.read_floor(id, [reached, done](const Status& seen) {
      done(seen.ok() ? reached : Result<std::int64_t>(seen));
    });
  };
  ASSERT(*wanted >= 1);
  sequence.begin_advance();
  store->advance({sequence.binding(), *wanted, drops_parked}, std::move(answer));
}

}  // namespace seqd
