#include "daemon/main/history_questions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

Status busy(const FairShare& share, UserId user, const char* what) {
  return {ErrorCode::BUSY, std::to_string(share.used_by(user)) + " " + what + " of this user and " +
                               std::to_string(share.used()) +
                               " in all wait for the history already, and one user may not have "
                               "all of the places; try again"};
}

}  // namespace

Status HistoryQuestions::ask(Question question) {
  if (!of_questions_.allows(question.user, 1))
    return busy(of_questions_, question.user, "questions");
  of_questions_.take(question.user, 1);
  questions_.push_back(std::move(question));
  return {};
}

Status HistoryQuestions::ask_audit(Question audit) {
  if (!of_audits_.allows(audit.user, 1)) return busy(of_audits_, audit.user, "audits");
  of_audits_.take(audit.user, 1);
  audits_.push_back(std::move(audit));
  return {};
}

std::vector<HistoryQuestions::Question> HistoryQuestions::take_questions() {
  return std::exchange(questions_, {});
}

// The oldest one of another user than the last one; else the oldest one.
std::size_t HistoryQuestions::next_audit_at() const {
  ASSERT(!audits_.empty());
  const auto found = std::find_if(audits_.begin(), audits_.end(), [this](const Question& audit) {
    return audit.user != audited_last_;
  });
  return found == audits_.end() ? 0 : static_cast<std::size_t>(found - audits_.begin());
}

HistoryQuestions::Question HistoryQuestions::take_audit() {
  const auto at = audits_.begin() + static_cast<std::ptrdiff_t>(next_audit_at());
  Question audit = std::move(*at);
  audits_.erase(at);
  audited_last_ = audit.user;
  return audit;
}

}  // namespace seqd
