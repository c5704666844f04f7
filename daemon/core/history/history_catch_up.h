// HistoryCatchUp: at a start, writes to the history what only the log has, because the daemon was
// killed before its last batch was written, or because the history is new. What was issued then is
// dated between the last batch and this start, without a caller. Ranges that an earlier start
// discarded before it was killed are found, too: what was available and is not any more was issued
// as far as the sums show, in order, and the rest is a gap.
//
//   reads the log while it is recovered (LogReader), then finish(). One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/history/history_batch.h"
#include "daemon/core/history/history_recorder.h"
#include "daemon/core/log/log_reader.h"
#include "daemon/core/log/state_image.h"

namespace seqd {

class HistoryCatchUp final : public LogReader {
 public:
  // `read_mark` is called when the log is about to be read: the state directory is locked by then.
  HistoryCatchUp(HistoryRecorder& recorder, std::function<HistoryMark()> read_mark);

  // LogReader
  void segment_begins() override;
  void entry(LogPosition position, const LogEntry& entry) override;

  // What the start has made of the log: `gaps` and `dropped` are in the image already. The batch is
  // to be taken before anything else happens: sequences that the log has lost get numbers for it
  // that will be used again.
  void finish(const StateImage& image, const std::vector<GapMade>& gaps,
              const std::vector<LeaseIntended>& dropped, std::int64_t now_ms);

  // Gaps that were not reported yet: neither the log's nor the start's.
  const std::vector<GapMade>& found() const { return found_; }
  // Of a sequence in `found()` that the log has lost; empty: it has not.
  std::string lost_name(SequenceId sequence) const;
  // The lease that an available range came from; zeros when the log does not say.
  Token lease_of(SequenceId sequence, std::int64_t id) const;
  // The instance that held the sequence before this start.
  Token instance_of(SequenceId sequence) const;
  // Everything is reported: what was read is not needed any more, but for instances().
  void end();
  // The instances that the log named before this start, by scope.
  const std::map<ScopeId, Token>& instances() const { return instances_; }

 private:
  struct Span {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  // What the log has of one sequence above the mark.
  struct Read {
    std::vector<HistoryLease> leases;
    std::vector<LeaseIntended> untraceable;
    std::vector<GapMade> gaps;
    std::vector<Span> issues;
    std::vector<std::pair<ReturnOpened, std::int64_t>> returned;  // and when
    std::optional<ReturnOpened> returning;
    std::vector<HeldSpan> ranges;  // all that were available at some time; of the whole segment
    std::int64_t intended = 0;
    ScopeId scope = 0;
    std::string name;
    bool forgotten = false;  // in order
  };

  void record_ended(const StateImage& image);
  void record(SequenceId id, const Read& read);
  void close_return(const ReturnClosed& entry, bool fresh);
  static void add_issue(Read& read, const Span& issue);
  void record_untraceable(const LeaseIntended& lease, std::int64_t wall_ms);
  void record_rest(const SequenceImage& sequence, const Read& read);
  void record_lost(const StateImage& image);
  void give(SequenceId id, std::vector<Span> gone, SequenceTotals missing);
  const HistoryMark::Known* known(const std::string& name) const;

  HistoryRecorder& recorder_;
  const std::function<HistoryMark()> read_mark_;
  HistoryMark mark_;
  bool mark_read_ = false;
  std::map<SequenceId, Read> read_;
  std::map<ScopeId, Token> instances_;
  std::vector<GapMade> found_;
  std::map<SequenceId, std::string> lost_names_;
  std::int64_t now_ms_ = 0;
};

}  // namespace seqd
