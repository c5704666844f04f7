#include "daemon/core/history/history_recorder.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// Spans shared by more pieces than this say nothing that is worth keeping.
constexpr std::size_t kMostPieces = 1 << 15;

void add(SequenceTotals& to, const SequenceTotals& more) {
  to.leased += more.leased;
  to.issued += more.issued;
  to.returned += more.returned;
  to.gaps += more.gaps;
  to.unknown += more.unknown;
}

bool goes_on(const IssueSpan& span, std::int64_t begin, CallerNumber caller) {
  return span.end == begin && span.caller_count == 1 && span.callers[0] == caller && !span.others;
}

// What is put back comes first.
template <typename T>
void put_in_front(std::vector<T>& earlier, std::vector<T>& now) {
  earlier.insert(earlier.end(), std::make_move_iterator(now.begin()),
                 std::make_move_iterator(now.end()));
  now = std::move(earlier);
}

}  // namespace

HistoryRecorder::HistoryRecorder(Clock& clock, const Limits& limits)
    : clock_(clock), limits_(limits), next_caller_(limits.first_caller) {
  // Room for all, so that an issue never allocates it.
  pending_.spans.reserve(limits.spans);
}

// --- callers

CallerNumber HistoryRecorder::join(CallerKey key) {
  const auto [found, fresh] = callers_.try_emplace(std::move(key), next_caller_);
  if (fresh) {
    ++next_caller_;
    caller_states_[found->second].key = found;
  }
  ++caller_states_.at(found->second).sessions;
  return found->second;
}

void HistoryRecorder::leave(CallerNumber caller) {
  CallerState& state = caller_states_.at(caller);
  ASSERT(state.sessions > 0);
  --state.sessions;
  if (state.sessions > 0 || state.used) return;
  callers_.erase(state.key);
  caller_states_.erase(caller);
}

void HistoryRecorder::opened(SessionId session, std::uint32_t uid, std::int32_t pid) {
  sessions_[session] = join({uid, pid, {}});
}

void HistoryRecorder::named(SessionId session, std::string_view name) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const auto& [uid, pid, before] = caller_states_.at(found->second).key->first;
  if (before == name) return;
  const CallerNumber caller = join({uid, pid, std::string(name)});
  leave(std::exchange(found->second, caller));
  last_session_ = 0;
}

void HistoryRecorder::closed(SessionId session) {
  closing_.push_back(session);
}

void HistoryRecorder::forget_closed() {
  for (const SessionId session : closing_) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) continue;
    leave(found->second);
    sessions_.erase(found);
    last_session_ = 0;
  }
  closing_.clear();
}

CallerNumber HistoryRecorder::caller_of(SessionId session) {
  if (session == last_session_) return last_caller_;
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return 0;
  last_session_ = session;
  last_caller_ = found->second;
  CallerState& state = caller_states_.at(last_caller_);
  ASSERT(state.sessions > 0);
  if (!std::exchange(state.used, true)) used_.push_back(last_caller_);
  return last_caller_;
}

// --- issues

HistoryRecorder::Gathered& HistoryRecorder::gather(SequenceId sequence) {
  auto& known = *sequences_.try_emplace(sequence).first;
  remember(known);
  std::unique_ptr<Gathered>& gathered = known.second.gathered;
  if (gathered == nullptr) {
    gathered = std::make_unique<Gathered>();
    dirty_.push_back(sequence);
  }
  return *gathered;
}

SequenceTotals HistoryRecorder::added(SequenceId sequence) const {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() || found->second.gathered == nullptr
             ? SequenceTotals()
             : found->second.gathered->added;
}

void HistoryRecorder::issued(SequenceId sequence, std::int64_t begin, std::int64_t end,
                             SessionId session) {
  if (turn_ms_ == 0) turn_ms_ = clock_.wall_ms();
  const CallerNumber caller = session == 0 ? 0 : caller_of(session);
  const Gathered& state = touch(sequence);
  ASSERT(state.span == kNone || state.span < pending_.spans.size());
  // Nearly always the caller continues where it was.
  if (state.span != kNone && goes_on(pending_.spans[state.span], begin, caller)) {
    pending_.spans[state.span].end = end;
    pending_.spans[state.span].last_ms = turn_ms_;
    return;
  }
  IssueSpan span;
  span.sequence = sequence;
  span.callers[0] = caller;
  span.begin = begin;
  span.end = end;
  span.first_ms = session == 0 ? std::min(unknown_since_ms_, turn_ms_) : turn_ms_;
  span.last_ms = turn_ms_;
  if (state.span != kNone && grow(pending_.spans[state.span], span)) return;
  add_span(span);
}

bool HistoryRecorder::grow(IssueSpan& span, const IssueSpan& more) const {
  ASSERT(span.sequence == more.sequence && span.caller_count <= IssueSpan::kNamed);
  if (span.end != more.begin) return false;
  const bool same = span.callers == more.callers && !span.others && !more.others;
  if (!same) {
    if (static_cast<std::size_t>(span.pieces) + more.pieces > most_pieces_) return false;
    for (std::size_t at = 0; at < more.caller_count; ++at) {
      const auto named = span.callers.begin() + span.caller_count;
      if (std::find(span.callers.begin(), named, more.callers[at]) != named) continue;
      if (span.caller_count == IssueSpan::kNamed) {
        span.others = true;
        break;
      }
      span.callers[span.caller_count++] = more.callers[at];
    }
    span.others = span.others || more.others;
    span.pieces = static_cast<std::uint16_t>(span.pieces + more.pieces);
  }
  span.end = more.end;
  span.last_ms = more.last_ms;
  return true;
}

void HistoryRecorder::add_span(const IssueSpan& span) {
  if (pending_.spans.size() >= limits_.spans && !make_room()) {
    touch(span.sequence).unwritten.issued += span.end - span.begin;
    touch(span.sequence).span = kNone;
    return;
  }
  // The span before it may have moved, or may take it now.
  Gathered& state = touch(span.sequence);
  if (state.span != kNone && grow(pending_.spans[state.span], span)) return;
  ASSERT(pending_.spans.size() < limits_.spans);
  state.span = pending_.spans.size();
  pending_.spans.push_back(span);
}

bool HistoryRecorder::make_room() {
  while (pending_.spans.size() > limits_.spans / 4 * 3 && most_pieces_ < kMostPieces) {
    most_pieces_ *= 2;
    merge_neighbours();
  }
  return pending_.spans.size() < limits_.spans;
}

void HistoryRecorder::merge_neighbours() {
  for (const IssueSpan& span : pending_.spans) touch(span.sequence).span = kNone;
  std::size_t kept = 0;
  for (const IssueSpan& span : std::exchange(pending_.spans, {})) {
    if (kept == 0) pending_.spans.reserve(limits_.spans);
    std::size_t& last = touch(span.sequence).span;
    if (last != kNone && grow(pending_.spans[last], span)) continue;
    last = kept++;
    pending_.spans.push_back(span);
  }
  ASSERT(kept == pending_.spans.size());
}

// --- the log's entries

Token HistoryRecorder::instance_of(SequenceId sequence) const {
  const auto known = sequences_.find(sequence);
  if (known == sequences_.end()) return {};
  const auto found = instances_.find(known->second.scope);
  return found == instances_.end() ? Token{} : found->second;
}

void HistoryRecorder::logged(const LogEntry& entry) {
  if (const auto* issue = std::get_if<Issued>(&entry)) {
    touch(issue->sequence).added.issued += issue->end - issue->begin;
  } else if (const auto* block = std::get_if<BlockEnded>(&entry)) {
    touch(block->sequence).added.issued += block->taken_end - block->begin;
  } else if (const auto* granted = std::get_if<LeaseGranted>(&entry)) {
    apply(*granted);
  } else if (const auto* closed = std::get_if<LeaseClosed>(&entry)) {
    apply(*closed);
  } else if (const auto* gap = std::get_if<GapMade>(&entry)) {
    add_gap(*gap, {}, instance_of(gap->sequence));
  } else if (const auto* intended = std::get_if<LeaseIntended>(&entry)) {
    intended_[intended->sequence] = intended->count;
  } else if (const auto* opened = std::get_if<ReturnOpened>(&entry)) {
    returning_[opened->sequence] = *opened;
  } else if (const auto* returned = std::get_if<ReturnClosed>(&entry)) {
    apply(*returned);
  } else if (const auto* sequence = std::get_if<DefineSequence>(&entry)) {
    SequenceState& state = sequences_[sequence->sequence];
    state.name = std::string(sequence->name);  // no longer than it is
    state.scope = sequence->scope;
  } else if (const auto* scope = std::get_if<DefineScope>(&entry)) {
    instances_[scope->scope] = scope->instance;
  } else if (const auto* forgotten = std::get_if<ForgetSequence>(&entry)) {
    touch(forgotten->sequence).ended = true;
  }
}

void HistoryRecorder::apply(const LeaseGranted& entry) {
  intended_.erase(entry.sequence);
  add_lease({entry.sequence, entry.lease, instance_of(entry.sequence), entry.begin, entry.end,
             entry.wall_ms, true});
}

void HistoryRecorder::apply(const LeaseClosed& entry) {
  const auto intent = intended_.extract(entry.sequence);
  if (entry.how != LeaseEnd::untraceable) return;
  Gathered& state = touch(entry.sequence);
  ++state.added.unknown;
  if (pending_.gaps.size() >= limits_.events) {
    ++state.unwritten.unknown;
    return;
  }
  pending_.gaps.push_back({entry.sequence, 0, intent ? intent.mapped() : 0, false, "untraceable",
                           entry.lease, instance_of(entry.sequence), entry.wall_ms});
}

void HistoryRecorder::apply(const ReturnClosed& entry) {
  const auto found = returning_.extract(entry.sequence);
  if (!found) return;
  const ReturnOpened& opened = found.mapped();
  if (entry.how == ReturnEnd::returned) return add_returned(opened, entry.wall_ms);
  add_gap({entry.sequence, opened.begin, opened.end, entry.cause, entry.wall_ms}, {},
          instance_of(entry.sequence));
}

// --- batches

HistoryBatch HistoryRecorder::take(LogPosition position,
                                   const std::function<void(HistorySequence&)>& complete) {
  HistoryBatch batch = std::exchange(pending_, {});
  pending_.spans.reserve(limits_.spans);
  most_pieces_ = 1;
  batch.position = position;
  batch.wall_ms = clock_.wall_ms();
  batch.sequences.reserve(dirty_.size());
  for (const SequenceId id : std::exchange(dirty_, {})) {
    SequenceState& state = sequences_[id];
    ASSERT(state.gathered != nullptr);
    const std::unique_ptr<Gathered> gathered = std::move(state.gathered);
    HistorySequence& sequence = batch.sequences.emplace_back();
    sequence.id = id;
    sequence.name = state.name;
    sequence.added = gathered->added;
    sequence.unwritten = gathered->unwritten;
    sequence.balances = gathered->balances;
    sequence.ended = gathered->ended;
    complete(sequence);
    // Numbers are not used again. If the batch comes back, it has the present ones.
    if (!sequence.ended) continue;
    sequences_.erase(id);
    returning_.erase(id);
    intended_.erase(id);
  }
  last_session_ = 0;
  std::fill(lately_.begin(), lately_.end(), nullptr);  // some of them have ended
  std::set<CallerNumber> returned;
  for (const HistoryCaller& caller : batch.callers) returned.insert(caller.number);
  for (const CallerNumber number : std::exchange(used_, {})) {
    CallerState& state = caller_states_.at(number);
    ASSERT(state.used);
    const auto& [uid, pid, name] = state.key->first;
    if (!returned.contains(number)) batch.callers.push_back({number, uid, pid, name});
    state.used = false;
    if (state.sessions > 0) continue;
    callers_.erase(state.key);
    caller_states_.erase(number);
  }
  return batch;
}

// However often a batch comes back, their number is bound by that of the spans.
void HistoryRecorder::keep_callers_of_spans() {
  std::set<CallerNumber> wanted;
  for (const IssueSpan& span : pending_.spans) {
    wanted.insert(span.callers.begin(), span.callers.begin() + span.caller_count);
  }
  std::erase_if(pending_.callers,
                [&](const HistoryCaller& caller) { return wanted.erase(caller.number) == 0; });
}

// What came meanwhile found room that the batch needs again.
void HistoryRecorder::drop_events_above_limit() {
  for (; pending_.leases.size() > limits_.events; pending_.leases.pop_back()) {
    const HistoryLease& lease = pending_.leases.back();
    touch(lease.sequence).unwritten.leased += lease.end - lease.begin;
  }
  for (; pending_.gaps.size() > limits_.events; pending_.gaps.pop_back()) {
    const HistoryGap& gap = pending_.gaps.back();
    if (gap.cause == kReturned) continue;
    SequenceTotals& unwritten = touch(gap.sequence).unwritten;
    if (gap.place_known)
      unwritten.gaps += gap.end - gap.begin;
    else
      ++unwritten.unknown;
  }
}

void HistoryRecorder::take_back(HistoryBatch batch) {
  put_in_front(batch.spans, pending_.spans);
  put_in_front(batch.leases, pending_.leases);
  put_in_front(batch.gaps, pending_.gaps);
  put_in_front(batch.advances, pending_.advances);
  for (const HistoryAdvance& advance : std::exchange(pending_.advances, {})) add_advance(advance);
  put_in_front(batch.callers, pending_.callers);
  for (const HistorySequence& sequence : batch.sequences) {
    Gathered& state = touch(sequence.id);
    sequences_[sequence.id].name = sequence.name;
    add(state.added, sequence.added);
    add(state.unwritten, sequence.unwritten);
    state.balances = state.balances || sequence.balances;
    state.ended = state.ended || sequence.ended;
  }
  drop_events_above_limit();
  merge_neighbours();
  if (pending_.spans.size() > limits_.spans) make_room();
  while (pending_.spans.size() > limits_.spans) {
    const IssueSpan& span = pending_.spans.back();
    Gathered& state = touch(span.sequence);
    state.unwritten.issued += span.end - span.begin;
    state.span = kNone;
    pending_.spans.pop_back();
  }
  keep_callers_of_spans();
}

}  // namespace seqd
