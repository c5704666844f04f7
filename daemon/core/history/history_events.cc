// The leases, gaps and advances that a HistoryRecorder collects: a part of history_recorder.h.
#include <string>

#include "daemon/core/history/history_recorder.h"

namespace seqd {
namespace {

constexpr std::size_t kMostAdvances = 1'024;  // of a batch

}  // namespace

void HistoryRecorder::add_returned(const ReturnOpened& range, std::int64_t wall_ms) {
  Gathered& state = touch(range.sequence);
  state.added.returned += range.end - range.begin;
  if (pending_.gaps.size() >= limits_.events) return;
  pending_.gaps.push_back({range.sequence, range.begin, range.end, true, std::string(kReturned),
                           range.token, instance_of(range.sequence), wall_ms});
}

void HistoryRecorder::add_lease(HistoryLease lease) {
  Gathered& state = touch(lease.sequence);
  state.added.leased += lease.end - lease.begin;
  if (pending_.leases.size() >= limits_.events) {
    state.unwritten.leased += lease.end - lease.begin;
    return;
  }
  pending_.leases.push_back(lease);
}

// Nothing is counted by it; where there is no room it is left out.
void HistoryRecorder::add_advance(const HistoryAdvance& advance) {
  static_cast<void>(touch(advance.sequence));
  if (pending_.advances.size() < kMostAdvances) pending_.advances.push_back(advance);
}

void HistoryRecorder::add_gap(const GapMade& gap, const Token& lease, const Token& instance) {
  Gathered& state = touch(gap.sequence);
  state.added.gaps += gap.end - gap.begin;
  if (pending_.gaps.size() >= limits_.events) {
    state.unwritten.gaps += gap.end - gap.begin;
    return;
  }
  pending_.gaps.push_back({gap.sequence, gap.begin, gap.end, true,
                           std::string(gap_cause_name(gap.cause)), lease, instance, gap.wall_ms});
}

}  // namespace seqd
