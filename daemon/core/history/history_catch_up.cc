#include "daemon/core/history/history_catch_up.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// How the sums went on from `before` to `after`.
SequenceTotals difference(const SequenceTotals& after, const SequenceTotals& before) {
  return {after.sequence,
          after.leased - before.leased,
          after.issued - before.issued,
          after.returned - before.returned,
          after.gaps - before.gaps,
          after.unknown - before.unknown};
}

bool holds(const std::vector<HeldSpan>& spans, const Token& lease) {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const HeldSpan& span) { return span.lease == lease; });
}

// Takes [begin, end) out of `from`, which keeps its order.
template <typename Span>
void subtract(std::vector<Span>& from, std::int64_t begin, std::int64_t end) {
  std::vector<Span> left;
  for (const Span& span : from) {
    if (span.begin < std::min(span.end, begin))
      left.push_back({span.begin, std::min(span.end, begin)});
    if (std::max(span.begin, end) < span.end) left.push_back({std::max(span.begin, end), span.end});
  }
  from = std::move(left);
}

}  // namespace

HistoryCatchUp::HistoryCatchUp(HistoryRecorder& recorder, std::function<HistoryMark()> read_mark)
    : recorder_(recorder), read_mark_(std::move(read_mark)) {}

void HistoryCatchUp::segment_begins() {
  if (!std::exchange(mark_read_, true)) mark_ = read_mark_();
  read_.clear();
  instances_.clear();
}

void HistoryCatchUp::entry(LogPosition position, const LogEntry& entry) {
  ASSERT(mark_read_);
  // Of a snapshot in the order of the numbers, what belongs to a sequence follows it.
  const auto of = [this](SequenceId id) -> Read& {
    if (!read_.empty() && read_.rbegin()->first == id) return read_.rbegin()->second;
    return read_.try_emplace(read_.end(), id)->second;
  };
  const bool fresh = position > mark_.position || !mark_.exists;
  if (const auto* scope = std::get_if<DefineScope>(&entry)) {
    instances_[scope->scope] = scope->instance;
  } else if (const auto* defined = std::get_if<DefineSequence>(&entry)) {
    Read& read = of(defined->sequence);
    read.scope = defined->scope;
    read.name = defined->name;
  } else if (const auto* range = std::get_if<AvailableRange>(&entry)) {
    of(range->sequence).ranges.push_back({range->lease, range->begin, range->end});
  } else if (const auto* intended = std::get_if<LeaseIntended>(&entry)) {
    of(intended->sequence).intended = intended->count;
  } else if (const auto* granted = std::get_if<LeaseGranted>(&entry)) {
    Read& read = of(granted->sequence);
    read.ranges.push_back({granted->lease, granted->begin, granted->end});
    if (fresh) {
      read.leases.push_back({granted->sequence, granted->lease, instances_[read.scope],
                             granted->begin, granted->end, granted->wall_ms, true});
    }
  } else if (const auto* opened = std::get_if<ReturnOpened>(&entry)) {
    of(opened->sequence).returning = *opened;
  } else if (const auto* return_closed = std::get_if<ReturnClosed>(&entry)) {
    close_return(*return_closed, fresh);
  } else if (!fresh) {
    return;
  } else if (const auto* lease_closed = std::get_if<LeaseClosed>(&entry)) {
    Read& read = of(lease_closed->sequence);
    if (lease_closed->how == LeaseEnd::untraceable) {
      read.untraceable.push_back(
          {lease_closed->sequence, lease_closed->lease, read.intended, lease_closed->wall_ms});
    }
  } else if (const auto* forgotten = std::get_if<ForgetSequence>(&entry)) {
    of(forgotten->sequence).forgotten = true;
  } else if (const auto* gap = std::get_if<GapMade>(&entry)) {
    of(gap->sequence).gaps.push_back(*gap);
  } else if (const auto* issue = std::get_if<Issued>(&entry)) {
    add_issue(of(issue->sequence), {issue->begin, issue->end});
  } else if (const auto* block = std::get_if<BlockEnded>(&entry)) {
    if (block->begin < block->taken_end)
      add_issue(of(block->sequence), {block->begin, block->taken_end});
  }
}

void HistoryCatchUp::add_issue(Read& read, const Span& issue) {
  if (!read.issues.empty() && read.issues.back().end == issue.begin) {
    read.issues.back().end = issue.end;
  } else {
    read.issues.push_back(issue);
  }
}

void HistoryCatchUp::close_return(const ReturnClosed& entry, bool fresh) {
  Read& read = read_[entry.sequence];
  const auto opened = std::exchange(read.returning, std::nullopt);
  if (!opened || !fresh) return;
  if (entry.how == ReturnEnd::returned) {
    read.returned.emplace_back(*opened, entry.wall_ms);
  } else {
    read.gaps.push_back({entry.sequence, opened->begin, opened->end, entry.cause, entry.wall_ms});
  }
}

Token HistoryCatchUp::lease_of(SequenceId sequence, std::int64_t id) const {
  const auto found = read_.find(sequence);
  if (found == read_.end()) return {};
  for (const HeldSpan& range : found->second.ranges) {
    if (range.begin <= id && id < range.end) return range.lease;
  }
  return {};
}

Token HistoryCatchUp::instance_of(SequenceId sequence) const {
  const auto found = read_.find(sequence);
  if (found == read_.end()) return {};
  const auto instance = instances_.find(found->second.scope);
  return instance == instances_.end() ? Token{} : instance->second;
}

std::string HistoryCatchUp::lost_name(SequenceId sequence) const {
  const auto found = lost_names_.find(sequence);
  return found == lost_names_.end() ? std::string() : found->second;
}

const HistoryMark::Known* HistoryCatchUp::known(const std::string& name) const {
  const auto found = std::lower_bound(
      mark_.sequences.begin(), mark_.sequences.end(), name,
      [](const auto& one, const std::string& wanted) { return one.first < wanted; });
  return found == mark_.sequences.end() || found->first != name ? nullptr : &found->second;
}

void HistoryCatchUp::finish(const StateImage& image, const std::vector<GapMade>& gaps,
                            const std::vector<LeaseIntended>& dropped, std::int64_t now_ms) {
  if (!std::exchange(mark_read_, true)) mark_ = read_mark_();
  ASSERT(found_.empty() && lost_names_.empty());
  now_ms_ = now_ms;
  recorder_.set_unknown_since(mark_.exists ? mark_.wall_ms : now_ms);
  for (const GapMade& gap : gaps) read_[gap.sequence].gaps.push_back(gap);
  // Under the instance that the leases were taken by; the image may have a new one.
  for (const auto& [scope, instance] : instances_) {
    DefineScope definition;
    definition.scope = scope;
    definition.instance = instance;
    recorder_.logged(definition);
  }
  record_ended(image);
  for (const auto& [id, sequence] : image.sequences) {
    recorder_.logged(sequence.definition);
    if (sequence.returning) recorder_.logged(*sequence.returning);
  }
  for (const auto& [id, read] : read_) {
    if (image.sequences.contains(id)) record(id, read);
  }
  for (const LeaseIntended& lease : dropped) record_untraceable(lease, now_ms);
  for (const auto& [id, sequence] : image.sequences) record_rest(sequence, read_[id]);
  record_lost(image);
  for (const auto& [id, scope] : image.scopes) recorder_.logged(scope);
}

void HistoryCatchUp::end() {
  mark_ = HistoryMark();
  read_.clear();
  lost_names_.clear();
  std::vector<GapMade>().swap(found_);
}

// First, since a name may have been used again.
void HistoryCatchUp::record_ended(const StateImage& image) {
  for (const auto& [id, read] : read_) {
    if (!read.forgotten || image.sequences.contains(id)) continue;
    DefineSequence definition;
    definition.sequence = id;
    definition.scope = read.scope;
    definition.name = read.name;
    recorder_.logged(definition);
    record(id, read);
    recorder_.logged(ForgetSequence{id});
  }
}

void HistoryCatchUp::record(SequenceId id, const Read& read) {
  for (const HistoryLease& lease : read.leases) recorder_.add_lease(lease);
  for (const Span& issue : read.issues) {
    recorder_.issued(id, issue.begin, issue.end, 0);
    recorder_.logged(Issued{id, issue.begin, issue.end, 0, 0, IssueKind::single});
  }
  for (const GapMade& gap : read.gaps) {
    recorder_.add_gap(gap, lease_of(id, gap.begin), instance_of(id));
  }
  for (const auto& [range, wall_ms] : read.returned) recorder_.add_returned(range, wall_ms);
  for (const LeaseIntended& lease : read.untraceable) record_untraceable(lease, lease.wall_ms);
}

void HistoryCatchUp::record_untraceable(const LeaseIntended& lease, std::int64_t wall_ms) {
  recorder_.logged(lease);
  recorder_.logged(LeaseClosed{lease.sequence, lease.lease, LeaseEnd::untraceable, wall_ms});
}

// What the sums say beyond what was read.
void HistoryCatchUp::record_rest(const SequenceImage& sequence, const Read& read) {
  const SequenceId id = sequence.definition.sequence;
  const HistoryMark::Known* before = known(sequence.definition.name);
  const HistoryMark::Known none;
  const std::vector<HeldSpan>& was_available =
      before != nullptr ? before->available : none.available;
  bool complete = before != nullptr;
  // What is out in blocks is not issued, as far as the history knows.
  const std::vector<AvailableRange> held = held_by(sequence);
  for (const AvailableRange& range : held) {
    const bool read_of = std::any_of(read.leases.begin(), read.leases.end(),
                                     [&](const auto& lease) { return lease.lease == range.lease; });
    if (read_of || holds(was_available, range.lease)) continue;
    recorder_.add_lease({id, range.lease, instance_of(id), range.begin, range.end, now_ms_, false});
    complete = false;
  }
  if (before != nullptr) {
    SequenceTotals missing = difference(sequence.totals, before->totals);
    missing = difference(missing, recorder_.added(id));
    if (missing != SequenceTotals{missing.sequence}) complete = false;
    std::vector<Span> gone;
    for (const HeldSpan& span : was_available) {
      // The log lost the grant of this lease, and will look it up in the store.
      const bool comes_back = sequence.intent && sequence.intent->lease == span.lease;
      if (!comes_back) gone.push_back({span.begin, span.end});
    }
    for (const HistoryLease& lease : read.leases) gone.push_back({lease.begin, lease.end});
    for (const AvailableRange& range : held) subtract(gone, range.begin, range.end);
    for (const Span& issue : read.issues) subtract(gone, issue.begin, issue.end);
    for (const GapMade& gap : read.gaps) subtract(gone, gap.begin, gap.end);
    for (const auto& [range, wall_ms] : read.returned) subtract(gone, range.begin, range.end);
    if (sequence.returning) subtract(gone, sequence.returning->begin, sequence.returning->end);
    give(id, std::move(gone), missing);
  }
  if (!complete) recorder_.balance(id);
}

// IDs that were available and are not any more, in the order of issue.
void HistoryCatchUp::give(SequenceId id, std::vector<Span> gone, SequenceTotals missing) {
  const bool log_went_back = missing.leased < 0 || missing.issued < 0 || missing.gaps < 0;
  for (Span& span : gone) {
    const std::int64_t issued = std::clamp<std::int64_t>(missing.issued, 0, span.end - span.begin);
    if (issued > 0) {
      recorder_.issued(id, span.begin, span.begin + issued, 0);
      recorder_.logged(Issued{id, span.begin, span.begin + issued, 0, 0, IssueKind::single});
      missing.issued -= issued;
      span.begin += issued;
    }
    const std::int64_t returned =
        std::clamp<std::int64_t>(missing.returned, 0, span.end - span.begin);
    if (returned > 0) {
      recorder_.add_returned({id, {}, span.end - returned, span.end, Reuse::parked, 0}, now_ms_);
      missing.returned -= returned;
      span.end -= returned;
    }
    const std::int64_t lost =
        log_went_back ? span.end - span.begin
                      : std::clamp<std::int64_t>(missing.gaps, 0, span.end - span.begin);
    if (lost == 0) continue;
    const GapCause cause = log_went_back ? GapCause::corrupt : GapCause::unrecorded;
    const GapMade gap{id, span.begin, span.begin + lost, cause, now_ms_};
    recorder_.add_gap(gap, lease_of(id, gap.begin), instance_of(id));
    found_.push_back(gap);
    if (!log_went_back) missing.gaps -= lost;
  }
}

// Sequences that the log does not know any more: what was available of them is gone with it.
void HistoryCatchUp::record_lost(const StateImage& image) {
  std::unordered_set<std::string_view> there;
  for (const auto& [number, sequence] : image.sequences) there.insert(sequence.definition.name);
  for (const auto& [number, read] : read_) {
    if (read.forgotten) there.insert(read.name);
  }
  SequenceId id = image.next_numbers.sequence;
  for (const auto& [name, before] : mark_.sequences) {
    if (there.contains(name)) continue;
    DefineSequence definition;
    definition.sequence = id;
    definition.name = name;
    recorder_.logged(definition);
    std::vector<Span> gone;
    for (const HeldSpan& span : before.available) gone.push_back({span.begin, span.end});
    give(id, std::move(gone), difference({}, before.totals));
    recorder_.logged(ForgetSequence{id});
    lost_names_[id++] = name;
  }
}

}  // namespace seqd
