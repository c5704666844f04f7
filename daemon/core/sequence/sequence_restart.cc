// How a Sequence survives its process: what it takes over at a start and leaves in snapshots, and
// what becomes of it when its scope is won or lost. Other parts of sequence.h are in
// sequence.cc and sequence_drain.cc.
//
// By surrender() all that it holds is a gap:
//
//   scope_lost()        another daemon has the remainder   cause epoch_lost
//   give_up_restored()  its database is an older copy      cause restored; begin_again() follows
//   give_up()           a drain that needs no store        the cause of that
//
// What is below the floor or above the maximum alone leaves by withdraw() (sequence.cc).
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {
namespace {

constexpr const char* kElsewhere = "another daemon has the remainder";

}  // namespace

void Sequence::restore(const SequenceImage& image) {
  ASSERT(image.definition.sequence == id() && holds_nothing(*this));
  definition_.set_high_water(image.definition.high_water);
  exhaustion_.restore(definition_.high_water(), settings());
  issuer_.restore(image);
  blocks_.restore(image);
  slot_.restore(image);
  blocks_.end_above_bound();
  if (context_.scope.has_history()) return;
  // This is a new instance. The former holder of the lease may still use it.
  slot_.abandon(GapCause::epoch_lost, kElsewhere);
}

void Sequence::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  ASSERT(issuer_.all_in_log());
  entry(definition_.logged());
  entry(totals());
  for (const Block* block : context_.table.blocks().of(id()))
    snapshot_block({block->granted, block->lease}, entry);
  for (const HeldRanges::Held& one : held().ranges()) {
    entry(AvailableRange{id(), one.lease, one.range.begin(), one.range.end(), one.asked_end});
  }
  if (const std::optional<ReturnOpened> opened = slot_.open_return())
    snapshot_return(*opened, entry);
  entry(UsedBelow{id(), issuer_.used_below()});
  if (slot_.leasing()) entry(*slot_.open_lease());
}

void Sequence::scope_owned() {
  ASSERT(context_.scope.owned());
  gate_.set_looks(!holds_nothing(*this) || may_meet_parked(*this));
  adopt();
  slot_.go_on();
  withdraw();
  touch();
}

// When the store may be called and nothing stops the sequence, whichever comes last.
void Sequence::adopt() {
  if (stop_cause() == StopCause::none) slot_.adopt();
}

void Sequence::surrender(GapCause cause, const std::string& why) {
  blocks_.end_all();
  slot_.abandon(cause, why);
  for (const HeldRanges::Held& held : issuer_.held().surrender())
    issuer_.write_off(held, cause, why);
  ASSERT(available() == 0);
  touch();  // what is counted of it
}

bool Sequence::scope_lost() {
  ASSERT(!context_.scope.owned());
  if (!context_.core.log.accepting()) return false;
  surrender(GapCause::epoch_lost, kElsewhere);
  return true;
}

bool Sequence::give_up_restored() {
  ASSERT(context_.scope.restored());
  if (!context_.core.log.accepting()) return false;
  surrender(GapCause::restored, "the database was restored from an older copy");
  return true;
}

void Sequence::begin_again() {
  ASSERT(!context_.scope.refuses() && holds_nothing(*this));
  floor_.forget_raised();
  if (is_configured(*this)) go_on();
  // Nothing was requested: it may be an ended period, and its counter purged.
  want_nothing();
}

DrainReport Sequence::give_up(const std::string& why, GapCause cause) {
  DrainReport report;
  report.why = why;
  blocks_.end_all();
  const std::optional<ReturnOpened> opened = slot_.open_return();
  for (const HeldRanges::Held& one : held().ranges())
    report.gaps.push_back({one.range.begin(), one.range.end()});
  // A range that was being returned may be parked in the older copy, and leased from there.
  if (opened && context_.scope.restored()) slot_.abandon(GapCause::restored, why);
  surrender(cause, why);
  report.returning = slot_.returning();  // in flight: its end is not known
  if (opened && report.returning == 0) report.gaps.push_back({opened->begin, opened->end});
  return report;
}

// No try follows; what is in flight may still be answered.
void Sequence::stop_operations() {
  replenisher_.stop();
  slot_.stop();
  end_drain();
}

void Sequence::ending_began() {
  ASSERT(!context_.refusals.ending.ok());
  gate_.update();
  stop_operations();
  waiters_.fail(context_.refusals.ending);
}

}  // namespace seqd
