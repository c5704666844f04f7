#include "daemon/main/history_questions.h"

#include <catch2/catch.hpp>
#include <vector>

namespace seqd {
namespace {

using Question = HistoryQuestions::Question;

Question of(UserId user) {
  return {user, {}, {}, {}};
}

// 64 audits of one user kept the questions of all others BUSY, root's too.
TEST_CASE("AuditsOfOneUserDoNotBlockOtherUsers", "[history_questions]") {
  HistoryQuestions questions;
  int audits = 0;
  while (questions.ask_audit(of(1'000)).ok()) REQUIRE(++audits < 100);
  CHECK(audits == HistoryQuestions::kAudits / 2);
  CHECK(questions.ask_audit(of(1'000)).code() == ErrorCode::BUSY);
  CHECK(questions.ask(of(1'000)).ok());
  CHECK(questions.ask(of(0)).ok());
  CHECK(questions.ask_audit(of(0)).ok());
}

TEST_CASE("QuestionsOfOneUserDoNotBlockOtherUsers", "[history_questions]") {
  HistoryQuestions questions;
  int asked = 0;
  while (questions.ask(of(1'000)).ok()) REQUIRE(++asked < 100);
  CHECK(asked == HistoryQuestions::kQuestions / 2);
  CHECK(questions.ask(of(2'000)).ok());
  CHECK(questions.ask(of(0)).ok());
}

TEST_CASE("PlacesAreFreeWhenAQuestionHasBeenAnswered", "[history_questions]") {
  HistoryQuestions questions;
  while (questions.ask(of(1'000)).ok()) {
  }
  while (questions.ask_audit(of(1'000)).ok()) {
  }
  const std::vector<Question> taken = questions.take_questions();
  CHECK_FALSE(questions.questions_wait());
  CHECK(questions.ask(of(1'000)).code() == ErrorCode::BUSY);
  for (const Question& question : taken) questions.answered(question);
  for (std::size_t at = 0; at < taken.size(); ++at) CHECK(questions.ask(of(1'000)).ok());
  const Question audit = questions.take_audit();
  CHECK(questions.ask_audit(of(1'000)).code() == ErrorCode::BUSY);
  questions.audited(audit);
  CHECK(questions.ask_audit(of(1'000)).ok());
}

TEST_CASE("AuditsOfSeveralUsersTakeTurns", "[history_questions]") {
  HistoryQuestions questions;
  for (const UserId user : {7U, 7U, 7U, 7U, 0U, 8U}) REQUIRE(questions.ask_audit(of(user)).ok());
  std::vector<UserId> order;
  while (questions.audits_wait()) {
    const UserId next = questions.next_audit().user;
    order.push_back(questions.take_audit().user);
    CHECK(order.back() == next);
  }
  CHECK(order == std::vector<UserId>{7, 0, 7, 8, 7, 7});
}

}  // namespace
}  // namespace seqd
