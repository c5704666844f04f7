// HistoryRecorder: collects new history records in memory until they are taken as a batch.
// Consecutive IDs that one caller took are one span, however long. If there are too many spans,
// neighbours are merged and name several callers; if that is not enough, issues are only counted.
// So its memory is bounded, and it never waits.
//
// It follows the log: `logged()` receives every entry, `issued()` every issue with its caller. A
// batch is taken between two turns. Loop thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/base/time/clock.h"
#include "daemon/core/context/history_sink.h"
#include "daemon/core/history/history_batch.h"

namespace seqd {

class HistoryRecorder final : public HistorySink {
 public:
  struct Limits {
    std::size_t spans = 4'096;    // not yet written
    std::size_t events = 65'536;  // leases and gaps not yet written; one more is only counted
    CallerNumber first_caller = 1;
  };

  HistoryRecorder(Clock& clock, const Limits& limits);

  // Who a session is. What it took stays its own when it is closed.
  void opened(SessionId session, std::uint32_t uid, std::int32_t pid);
  void named(SessionId session, std::string_view name);
  void closed(SessionId session);

  // HistorySink. Session 0: the caller is not known; such IDs are dated from `unknown_since`.
  void issued(SequenceId sequence, std::int64_t begin, std::int64_t end,
              SessionId session) override;
  void logged(const LogEntry& entry);
  void add_gap(const GapMade& gap, const Token& lease, const Token& instance);
  // Neither issued nor lost: not this host's any more.
  void add_returned(const ReturnOpened& range, std::int64_t wall_ms);
  void add_lease(HistoryLease lease);
  void add_advance(const HistoryAdvance& advance);
  // See HistorySequence::balances.
  void balance(SequenceId sequence) { touch(sequence).balances = true; }
  void set_unknown_since(std::int64_t wall_ms) { unknown_since_ms_ = wall_ms; }
  Token instance_of(SequenceId sequence) const;
  // What the batch that is being gathered adds.
  SequenceTotals added(SequenceId sequence) const;

  // The turn is in the log.
  void turn_over() {
    turn_ms_ = 0;
    if (!closing_.empty()) forget_closed();
  }
  bool empty() const { return dirty_.empty(); }
  std::size_t sequences() const { return sequences_.size(); }  // that it knows
  bool urgent() const { return pending_.urgent(); }
  // More of it would be merged coarser: time to take it.
  bool filling() const { return pending_.spans.size() > limits_.spans / 2; }
  // Everything since the last time. `complete` fills in totals and available ranges.
  HistoryBatch take(LogPosition position, const std::function<void(HistorySequence&)>& complete);
  // A batch that could not be written: it goes in front of what has come since.
  void take_back(HistoryBatch batch);

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr std::size_t kMostLately = std::size_t{1} << 14;
  using CallerKey = std::tuple<std::uint32_t, std::int32_t, std::string>;
  struct CallerState {
    std::map<CallerKey, CallerNumber>::iterator key;
    std::size_t sessions = 0;
    bool used = false;  // by a span that is pending
  };
  // What the batch that is being gathered has of a sequence.
  struct Gathered {
    std::size_t span = kNone;  // the youngest of it that is pending
    SequenceTotals added;
    SequenceTotals unwritten;
    bool balances = false;
    bool ended = false;
  };
  struct SequenceState {
    std::string name;
    ScopeId scope = 0;
    std::unique_ptr<Gathered> gathered;  // null: the batch has nothing of it
  };

  void forget_closed();
  void apply(const LeaseGranted& entry);
  void apply(const LeaseClosed& entry);
  void apply(const ReturnClosed& entry);
  Gathered& touch(SequenceId sequence) {
    const auto* const known = lately_[sequence & (lately_.size() - 1)];
    const bool same = known != nullptr && known->first == sequence;
    return same && known->second.gathered != nullptr ? *known->second.gathered : gather(sequence);
  }
  Gathered& gather(SequenceId sequence);
  void remember(std::pair<const SequenceId, SequenceState>& known) {
    if (lately_.size() < sequences_.size() && lately_.size() < kMostLately)
      lately_ = decltype(lately_)(std::min(std::bit_ceil(sequences_.size()), kMostLately));
    lately_[known.first & (lately_.size() - 1)] = &known;
  }
  CallerNumber join(CallerKey key);
  void leave(CallerNumber caller);
  CallerNumber caller_of(SessionId session);
  void drop_events_above_limit();
  void keep_callers_of_spans();
  void add_span(const IssueSpan& span);
  bool grow(IssueSpan& span, const IssueSpan& more) const;
  bool make_room();
  void merge_neighbours();

  Clock& clock_;
  const Limits limits_;
  HistoryBatch pending_;
  std::unordered_map<SequenceId, SequenceState> sequences_;  // until they have ended
  // A cache of touch(), by the last bits of the number: most numbers follow each other. A power of
  // two, kMostLately at most.
  std::vector<std::pair<const SequenceId, SequenceState>*> lately_{nullptr};
  std::unordered_map<SequenceId, std::int64_t> intended_;  // IDs of the leases in flight
  std::unordered_map<SequenceId, ReturnOpened> returning_;
  std::vector<SequenceId> dirty_;
  std::map<ScopeId, Token> instances_;
  std::map<CallerKey, CallerNumber> callers_;
  std::unordered_map<CallerNumber, CallerState> caller_states_;
  std::unordered_map<SessionId, CallerNumber> sessions_;
  std::vector<CallerNumber> used_;  // those whose state says so
  std::vector<SessionId> closing_;  // their last issues may come at the end of the turn
  CallerNumber next_caller_;
  SessionId last_session_ = 0;  // a cache of caller_of(); 0: none
  CallerNumber last_caller_ = 0;
  std::int64_t turn_ms_ = 0;  // wall clock of the turn; 0: not looked at
  std::int64_t unknown_since_ms_ = 0;
  std::size_t most_pieces_ = 1;  // of a span that several callers share
};

}  // namespace seqd
