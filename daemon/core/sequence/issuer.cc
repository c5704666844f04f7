#include "daemon/core/sequence/issuer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/log/gap_event.h"
#include "daemon/core/sequence/sequence_budgets.h"

namespace seqd {
namespace {

constexpr std::int64_t kFirstReservation = 64;
// A reservation used up faster than this was too small; one that lasted longer than the other was
// too large.
constexpr std::int64_t kReservationShortMs = 50;
constexpr std::int64_t kReservationLongMs = 5'000;

}  // namespace

Issuer::Issuer(SequenceDefinition& definition)
    : definition_(definition),
      totals_{.sequence = definition.id()},
      reserve_size_(std::min(kFirstReservation, definition.settings().max_unsynced)) {
  ASSERT(reserve_size_ >= 1);
}

void Issuer::restore(const SequenceImage& image) {
  ASSERT(all_in_log() && held_.ranges().empty());
  totals_ = image.totals;
  definition_.set_used_below(image.used_below);
  for (const AvailableRange& range : image.ranges)
    held_.add(IdRange(range.begin, range.end), range.lease);
}

void Issuer::note(std::int64_t begin, std::int64_t end, const Caller& caller, IssueAs as) {
  ASSERT(begin < end && end <= held_.last_range_end());
  last_issued_ = end - 1;
  const Issued issue = as_recorded(
      {definition_.id(), begin, end, caller.client, caller.request, as.kind, as.form, as.wall_s});
  if (pending_ == nullptr) {
    pending_ = &context().budgets.issuing(definition_.id(), context().core.history);
  } else {
    if (pending_->merge(issue, held_.last_range_end(), caller.session)) return;
    write();
  }
  ASSERT(pending_->empty());
  pending_->begin(issue, held_.last_range_end(), caller.session);
}

void Issuer::issue(const Caller& caller, std::int64_t count, IssueAs as, std::vector<Run>* runs) {
  ASSERT(count >= 1 && count <= held_.issuable());
  while (count > 0) {
    const IdRange range = held_.take(count);
    count -= range.size();
    note(range.begin(), range.end(), caller, as);
    add_run(*runs, {range.begin(), range.size(), 1});
  }
}

void Issuer::flush() {
  if (pending_ == nullptr) return;
  write();
  pending_ = nullptr;
}

void Issuer::write() {
  const Issued issued = pending_->take();
  ASSERT(issued.begin < issued.end && issued.sequence == definition_.id());
  totals_.issued += issued.end - issued.begin;
  definition_.note_used(issued.end);
  context().core.log.append(issued);
  if (issued.client != 0) context().table.recorded(issued);
}

std::pair<IdRange, Token> Issuer::take_block(std::int64_t at_most) {
  ASSERT(all_in_log() && held_.issuable() > 0);
  const Token lease = held_.ranges().front().lease;
  return {held_.take(at_most), lease};
}

void Issuer::note_taken(std::int64_t begin, std::int64_t end, SessionId session) {
  ASSERT(all_in_log() && begin < end);
  totals_.issued += end - begin;
  definition_.note_used(end);
  last_issued_ = end - 1;
  if (context().core.history != nullptr)
    context().core.history->issued(definition_.id(), begin, end, session);
}

void Issuer::apply_settings() {
  reserve_size_ = std::min(reserve_size_, definition_.settings().max_unsynced);
  ASSERT(reserve_size_ >= 1);
}

void Issuer::note_leased(IdRange range, const Token& lease) {
  totals_.leased += range.size();
  held_.add(std::move(range), lease);
}

void Issuer::note_gap(const GapMade& gap, const Token& lease, const std::string& why) {
  ASSERT(gap.begin < gap.end);
  totals_.gaps += gap.end - gap.begin;
  definition_.note_used(gap.end);
  context().budgets.gap_made(gap.cause, gap.end - gap.begin);
  context().core.events.raise(
      gap_event(gap, definition_.name(), lease, context().scope.instance(), why));
}

void Issuer::write_off(const HeldRanges::Held& held, GapCause cause, const std::string& why) {
  const GapMade gap{definition_.id(), held.range.begin(), held.range.end(), cause,
                    context().core.clock.wall_ms()};
  context().core.log.append(gap);
  note_gap(gap, held.lease, why);
}

void Issuer::withdraw(std::int64_t floor) {
  flush();
  const SequenceSettings& settings = definition_.settings();
  const std::int64_t last = settings.last_ordinal();
  for (const HeldRanges::Held& held : held_.take_below(floor))
    write_off(held, GapCause::superseded,
              "the counter was advanced to " + std::to_string(floor) + " for every host");
  for (const HeldRanges::Held& held : held_.take_above(last))
    write_off(held, GapCause::out_of_bounds,
              settings.progression.compiled != nullptr
                  ? "the sequence ends before it now (sequence.max)"
                  : "the highest ID is " + std::to_string(last) + " now (sequence.max_value)");
}

void Issuer::resize_reservation() {
  const std::int64_t now_ms = context().core.clock.monotonic_ms();
  const std::int64_t most = definition_.settings().max_unsynced;
  const std::int64_t lasted_ms = now_ms - reserved_at_ms_;
  if (reserved_at_ms_ > 0 && lasted_ms < kReservationShortMs) {
    reserve_size_ = std::min(reserve_size_ * 4, most);
  } else if (lasted_ms > kReservationLongMs) {
    reserve_size_ = std::max(reserve_size_ / 2, std::min(kFirstReservation, most));
  }
  ASSERT(reserve_size_ >= 1 && reserve_size_ <= most);
  reserved_at_ms_ = now_ms;
}

bool Issuer::begin_reservation(std::int64_t out, std::int64_t demand) {
  ASSERT(out >= 0 && demand >= 0);
  if (reserving_) return false;
  demand = std::min(demand, held_.available());
  const std::int64_t room = std::max<std::int64_t>(definition_.settings().max_unsynced - out, 1);
  if (held_.asked() > std::min(reserve_size_, room) / 2 && held_.asked() >= demand) return false;
  if (held_.asked() == held_.available()) return false;
  resize_reservation();
  const std::vector<std::int64_t> ends = held_.ask(std::max(std::min(reserve_size_, room), demand));
  if (ends.empty()) return false;  // it got smaller
  for (const std::int64_t end : ends) context().core.log.append(Reserved{definition_.id(), end});
  reserving_ = true;
  return true;
}

void Issuer::end_reservation() {
  ASSERT(reserving_);
  reserving_ = false;
  held_.reservation_durable();
}

}  // namespace seqd
