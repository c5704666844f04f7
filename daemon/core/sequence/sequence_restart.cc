// How a Sequence survives its process: what it takes over at a start and leaves in snapshots, and
// what becomes of it when its scope is won or lost. The rest of sequence.h is in sequence.cc.
#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"

namespace seqd {
namespace {

constexpr const char* kElsewhere = "another daemon has the remainder";

}  // namespace

void Sequence::restore(const SequenceImage& image) {
  totals_ = image.totals;
  definition_.high_water = image.definition.high_water;
  exhaustion_.restore(definition_.high_water, settings_);
  used_below_ = image.used_below;
  for (const AvailableRange& range : image.ranges)
    held_.add(IdRange(range.begin, range.end), range.lease);
  left_open_ = image.intent;
  // A scope without a history is a new instance: whoever held this lease before may still be using
  // it.
  if (left_open_ && !scope_.has_history()) lease_.abandon(*std::exchange(left_open_, std::nullopt));
  if (image.returning) drain_.restore(*image.returning);
  if (!scope_.has_history()) drain_.abandon(GapCause::epoch_lost, kElsewhere);
}

void Sequence::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  ASSERT(pending_.empty());
  entry(definition_);
  entry(totals_);
  for (const HeldRanges::Held& held : held_.ranges()) {
    entry(AvailableRange{id_, held.lease, held.range.begin(), held.range.end(), held.asked_end});
  }
  drain_.snapshot(entry);
  entry(UsedBelow{id_, used_below_});
  if (lease_.intent_open()) {
    entry(lease_.intent());
  } else if (left_open_) {
    entry(*left_open_);
  }
}

void Sequence::scope_owned() {
  update_open();
  adopt();
  lease_.go_on();
  drain_.go_on();
  withdraw();
  touch();
}

// When the store may be asked and nothing stops the sequence, whichever comes last. Settled also
// where requests are refused.
void Sequence::adopt() {
  if (!stopped_.ok() || !ending_.ok() || !scope_.verified()) return;
  if (left_open_) lease_.adopt(*std::exchange(left_open_, std::nullopt));
  drain_.adopt();
}

void Sequence::surrender(GapCause cause, const std::string& why) {
  if (left_open_) lease_.abandon(*std::exchange(left_open_, std::nullopt));
  lease_.abandon_open();
  drain_.abandon(cause, why);
  for (const HeldRanges::Held& held : held_.surrender()) leave(held, cause, why);
}

bool Sequence::scope_lost() {
  if (!context_.log.accepting()) return false;
  surrender(GapCause::epoch_lost, kElsewhere);
  return true;
}

bool Sequence::may_ask() const {
  return scope_.verified();
}

void Sequence::met_older_copy() {
  touch();
  scope_.found_restored();
}

bool Sequence::awaits_advance() const {
  return stopped_.code() == ErrorCode::SEQ_REGRESSED && raised_to_ == 0 &&
         std::max(definition_.high_water, used_below_) > 0;
}

bool Sequence::give_up_restored() {
  if (!context_.log.accepting()) return false;
  surrender(GapCause::restored, "the database was put back from an older copy");
  return true;
}

void Sequence::begin_again() {
  raised_to_ = 0;
  if (stopped_.code() == ErrorCode::SEQ_REGRESSED) go_on();
  // Nothing was asked for: it may be a period that is over, and its counter purged.
  wanted_ = false;
}

DrainReport Sequence::give_up(const std::string& why) {
  DrainReport report;
  report.why = why;
  const std::optional<ReturnOpened> opened = drain_.open_return();
  for (const HeldRanges::Held& held : held_.ranges())
    report.gaps.push_back({held.range.begin(), held.range.end()});
  surrender(GapCause::drained, why);
  report.returning = drain_.returning();  // in flight: its end is not known
  if (opened && report.returning == 0) report.gaps.push_back({opened->begin, opened->end});
  return report;
}

}  // namespace seqd
