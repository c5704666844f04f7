// HistoryQuestions: what waits for the history: questions, which the worker answers between two
// batches, and audits, one at a time. A user gets a share of the places of each, and audits of
// several users take turns: one takes seconds. Owned by the History; loop thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "daemon/base/fair_share.h"
#include "daemon/base/status.h"
#include "daemon/base/user_id.h"

namespace seqd {

class HistoryReader;

class HistoryQuestions {
 public:
  struct Question {
    UserId user = 0;
    std::function<void()> now;                 // on the loop, when the batch is taken
    std::function<void(HistoryReader&)> read;  // on the worker
    std::function<void(const Status&)> done;   // on the loop; not OK: it was not read
  };
  // One user alone may have half of them.
  static constexpr std::int64_t kQuestions = 128;
  static constexpr std::int64_t kAudits = 64;

  // OK, or BUSY: too many wait already, or the user has its share of them.
  Status ask(Question question);
  Status ask_audit(Question audit);

  bool questions_wait() const { return !questions_.empty(); }
  bool audits_wait() const { return !audits_.empty(); }
  const std::vector<Question>& waiting() const { return questions_; }
  // The audit whose turn it is; only when one waits.
  const Question& next_audit() const { return audits_[next_audit_at()]; }

  // Their places are free when they have been answered.
  std::vector<Question> take_questions();
  Question take_audit();
  void answered(const Question& question) { of_questions_.release(question.user, 1); }
  void audited(const Question& audit) { of_audits_.release(audit.user, 1); }

 private:
  std::size_t next_audit_at() const;

  std::vector<Question> questions_;
  std::deque<Question> audits_;
  UserId audited_last_ = kNoUserOrGroup;
  FairShare of_questions_{kQuestions, 1};
  FairShare of_audits_{kAudits, 1};
};

}  // namespace seqd
