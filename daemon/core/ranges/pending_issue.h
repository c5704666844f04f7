// PendingIssue: what a sequence issued in this turn and has not written to the log: consecutive IDs
// that are one entry there. The history receives them in one piece per session. A value of its
// Sequence; loop thread.
#pragma once

#include <cstdint>
#include <utility>

#include "daemon/core/context/history_sink.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

// Time and form are kept for retries of texts; a client without an identity does not retry.
inline Issued as_recorded(Issued issue) {
  if (issue.kind == IssueKind::text && issue.client == 0) issue.kind = IssueKind::single;
  if (issue.kind != IssueKind::text) issue.form = 0, issue.wall_s = 0;
  return issue;
}

class PendingIssue {
 public:
  // `history` may be null; it outlives this.
  explicit PendingIssue(HistorySink* history) : history_(history) {}

  bool empty() const { return issue_.begin == issue_.end; }

  // Starts again; only when empty. `range_end`: of the range that the IDs were taken from, because
  // an entry of the log stays within one.
  void begin(const Issued& issue, std::int64_t range_end, SessionId session) {
    issue_ = issue;
    range_end_ = range_end;
    unheard_begin_ = issue.begin;
    session_ = session;
  }
  // Takes up what goes into the same entry. False: it does not, or there is none.
  bool merge(const Issued& next, std::int64_t range_end, SessionId session) {
    if (empty()) return false;
    const bool follows = issue_.end == next.begin && range_end_ == range_end &&
                         issue_.client == next.client && issue_.kind == next.kind &&
                         is_one_each(next.kind) && issue_.form == next.form &&
                         issue_.wall_s == next.wall_s;
    const bool numbered =
        next.client == 0 ||
        static_cast<std::int64_t>(next.request) - issue_.request == issue_.end - issue_.begin;
    if (!follows || !numbered) return false;
    if (session != session_) {
      tell();
      session_ = session;
    }
    issue_.end = next.end;
    return true;
  }
  // The entry for the log; empty afterwards, and the history has heard of all of it.
  Issued take() {
    tell();
    Issued out = issue_;
    issue_.begin = issue_.end;
    return out;
  }

 private:
  void tell() {
    if (history_ == nullptr) return;
    history_->issued(issue_.sequence, std::exchange(unheard_begin_, issue_.end), issue_.end,
                     session_);
  }

  HistorySink* const history_;
  Issued issue_;  // empty when begin == end
  std::int64_t range_end_ = 0;
  std::int64_t unheard_begin_ = 0;  // [unheard_begin_, issue_.end) is what the history lacks
  SessionId session_ = 0;           // that took it
};

}  // namespace seqd
