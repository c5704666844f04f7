#include <memory>
#include <string>

#include "daemon/core/names/id_form.h"
#include "daemon/core/text/id_format.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("WhatIsNotAQuestionIsRefused", "[history]") {
  Service service;
  const std::string id(1, '\x05');
  service.ask(next_request(7, "orders"));
  CHECK(service.code(request("gaps", "or ders")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("gaps", "orders", 2, "\x07")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("gaps", "orders", 2, "\x81\xa5limit\xcd\x03\xe9")) ==
        ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("gaps", "orders", 2, "\x81\xa5limit\x01")) == ErrorCode::OK);
  CHECK(service.code(request("gaps", "orders", 2, "\x81\xa5later\x01")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("gaps", "orders", 3, "\x80\x80")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("explain", "orders")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("explain", "orders", 2, std::string(1, '\0'))) ==
        ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("explain", "orders", 2, "\xff")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("explain", "orders", 3, id + id)) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("audit", "orders", 2, id)) == ErrorCode::BAD_REQUEST);
}

TEST_CASE("ASequenceThatWasNeverHereIsNamedAsSuch", "[history]") {
  Service service;
  for (const char* method : {"gaps", "audit"})
    CHECK(service.code(request(method, "nobody")) == ErrorCode::NO_SEQUENCE);
  CHECK(service.code(request("explain", "nobody", 2, "\x05")) == ErrorCode::NO_SEQUENCE);
  CHECK(service.code(request("explain", "unknown", 2, "\xa1x")) == ErrorCode::NO_SEQUENCE);
}

TEST_CASE("QuestionsAreAnsweredLaterAndOthersAreServedMeanwhile", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  service.world.send(*service.line, request("audit", "orders") + next_request(8, "orders"));
  service.world.turn();
  std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].msgid == 8);
  CHECK(service.line->session->waiting == 1);
  service.world.settle();
  replies = service.line->replies();
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].msgid == 1);
  CHECK(service.line->session->waiting == 0);
}

TEST_CASE("AnAnswerForAClientThatLeftIsDropped", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  service.world.send(*service.line, request("audit", "orders"));
  service.world.hang_up(*service.line);
  service.world.settle();
  CHECK(service.world.history.waiting.empty());
}

TEST_CASE("AHistoryThatCannotAnswerSaysWhy", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  service.world.history.refusal = Status(ErrorCode::BUSY, "64 questions");
  CHECK(service.code(request("audit", "orders")) == ErrorCode::BUSY);
  CHECK(service.line->session->waiting == 0);
  service.world.history.refusal = Status();
  service.world.history.sums = Status(ErrorCode::UNAVAILABLE, "the disk is full");
  CHECK(service.ask(request("audit", "orders")).text == "the disk is full");
}

TEST_CASE("WithoutAHistoryItsMethodsSaySo", "[history]") {
  RpcWorld world;
  world.keeps_history = false;
  world.start();
  world.settle();
  CHECK(world.ask(world.connect(), request("gaps", "orders")).code == ErrorCode::UNAVAILABLE);
}

TEST_CASE("AnAvailableIdIsExplainedFromTheCore", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  const auto seen = map_of(service.ask(request("explain", "orders", 2, "\x02")));
  CHECK(seen.at("answer") == "available");
  CHECK(seen.at("id") == "2");
  CHECK(seen.at("lease.lease").size() == 32);
  CHECK(seen.at("issued") == "nil");
}

TEST_CASE("AnIdAboveTheCounterIsExplainedFromTheStore", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  const auto seen = map_of(service.ask(request("explain", "orders", 2, "\xcd\x27\x10")));
  CHECK(seen.at("answer") == "not_issued");
  CHECK(service.world.core.store.read_calls.size() == 1);
}

TEST_CASE("AnIssueIsExplainedWithItsCallersAndLease", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  IdAnswer answer;
  answer.known = true;
  IssueRow& issue = answer.issue.emplace();
  issue.span.begin = 1;
  issue.span.end = 2;
  issue.span.first_ms = 5;
  issue.span.last_ms = 6;
  issue.callers.push_back({3, 1'000, 77, "shop"});
  LeaseRow& lease = answer.lease.emplace();
  lease.lease.begin = 1;
  lease.lease.end = 11;
  lease.host = "here";
  service.world.history.id = answer;
  const auto seen = map_of(service.ask(request("explain", "orders", 2, "\x01")));
  CHECK(seen.at("answer") == "issued");
  CHECK(seen.at("issued.callers") == "array of 1");
  CHECK(seen.at("issued.from_ms") == "5");
  CHECK(seen.at("lease.count") == "10");
  CHECK(seen.at("lease.host") == "here");
  CHECK(service.world.core.store.read_calls.empty());
}

TEST_CASE("GapsAreListedWithWhatWasDropped", "[history]") {
  Service service;
  GapsAnswer answer;
  answer.known = true;
  answer.rows.push_back({4, {1, 10, 15, true, "no_witness", Token{1}, Token{2}, 9}, "here"});
  answer.rows.push_back({5, {1, 0, 50, false, "untraceable", {}, Token{2}, 9}, "here"});
  answer.more = true;
  answer.dropped.gaps = 17;
  service.world.history.gaps = answer;
  const Reply reply = service.ask(request("gaps", "orders", 2,
                                          "\x82\xa5"
                                          "after\x03\xa5limit\x02"));
  CHECK((service.world.history.asked.after == 3 && service.world.history.asked.limit == 2));
  const auto seen = map_of(reply);
  CHECK(seen.at("gaps") == "array of 2");
  CHECK(seen.at("more") == "true");
  CHECK(seen.at("dropped_ids") == "17");
}

TEST_CASE("AnAuditComparesTheCoreTheHistoryAndTheStore", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  auto seen = map_of(service.ask(request("audit", "orders")));
  CHECK(seen.at("good") == "true");
  CHECK(seen.at("leased") == "10");
  CHECK(seen.at("issued") == "1");
  CHECK(seen.at("available") == "9");
  CHECK(seen.at("unaccounted") == "0");
  CHECK(seen.at("history") == "nil");
  CHECK(seen.at("store.next") == "11");
  SumsAnswer sums;
  sums.known = true;
  sums.recorded = sums.rows = {0, 10, 0, 0, 0, 0};
  service.world.history.sums = sums;
  seen = map_of(service.ask(request("audit", "orders")));
  CHECK(seen.at("good") == "false");
  CHECK(seen.at("problems") == "array of 1");
  CHECK(seen.at("history.missing.issued") == "1");
}

TEST_CASE("WhoTookAnIdIsRecordedByConnectionAndName", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  const HistoryBatch batch = service.world.recorder->take(1, [](HistorySequence&) {});
  REQUIRE(batch.spans.size() == 1);
  REQUIRE(batch.callers.size() == 1);
  CHECK(batch.callers[0].uid == 1'000);
  CHECK(batch.callers[0].pid == 1);
}

TEST_CASE("WhoHungUpIsForgottenBehindTheTurn", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  const SessionId session = service.line->session->id;
  const auto take = [&] { return service.world.recorder->take(1, [](HistorySequence&) {}); };
  CHECK(take().callers.size() == 1);
  service.world.hang_up(*service.line);
  service.world.turn();
  service.world.recorder->issued(1, 100, 101, session);
  const HistoryBatch batch = take();
  CHECK(batch.spans.size() == 1);
  CHECK(batch.callers.empty());
}

TEST_CASE("AnIdThatIsLeasedWhileItIsExplainedIsAvailable", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  // The question is asked; its answer will have what was leased before the batch.
  service.world.send(*service.line, request("explain", "orders", 2, "\x0c"));
  service.world.turn();
  Line& other = service.world.connect();
  service.world.send(other, range_request(1, "orders", 10));
  for (int step = 0; step < 4; ++step) {
    service.world.turn();
    if (service.world.core.log.flush_due()) service.world.core.flush();
    service.world.core.store.deliver();
  }
  REQUIRE(other.replies().size() == 1);
  IdAnswer answer;
  answer.known = true;
  LeaseRow& lease = answer.lease.emplace();
  lease.lease.begin = 11;
  lease.lease.end = 21;
  service.world.history.id = answer;
  service.world.settle();
  const std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 1);
  CHECK(map_of(replies[0]).at("answer") == "available");
}

TEST_CASE("BehindTheStoresAnswerTheHistoryIsAskedOnceMore", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  service.world.send(*service.line, request("explain", "orders", 2, "\x0c"));
  service.world.turn();
  REQUIRE(service.world.history.deliver());
  REQUIRE(service.world.core.store.read_calls.size() == 1);
  // It is leased before the store has answered.
  IdAnswer answer;
  answer.known = true;
  answer.lease.emplace();
  answer.issue.emplace();
  service.world.history.id = answer;
  service.world.settle();
  const std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 1);
  CHECK(map_of(replies[0]).at("answer") == "issued");
}

TEST_CASE("CallersOfOtherUsersAreShownToAdministratorsOnly", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  IdAnswer answer;
  answer.known = true;
  IssueRow& issue = answer.issue.emplace();
  issue.callers = {{3, 1'000, 77, "shop"}, {4, 1'001, 78, "desk"}};
  service.world.history.id = answer;
  const auto seen_by = [&](UserId user) {
    Line& line = service.world.connect(user);
    return map_of(service.world.ask(line, request("explain", "orders", 2, "\x01")));
  };
  // 1000 administers, 500 is the daemon's user.
  for (const UserId user : {0U, 500U, 1'000U}) {
    const auto seen = seen_by(user);
    CHECK(seen.at("issued.callers") == "array of 2");
    CHECK(seen.at("issued.unnamed") == "nil");
  }
  auto seen = seen_by(1'001);
  CHECK(seen.at("issued.callers") == "array of 1");
  CHECK(seen.at("issued.unnamed") == "administrators");
  CHECK(seen.at("issued.others") == "true");
  seen = seen_by(1'002);
  CHECK(seen.at("issued.callers") == "array of 0");
  CHECK(seen.at("text").find("administrators") != std::string::npos);
  CHECK(seen.at("issued.others") == "false");
}

// In a container without root these are several people of the host, whom nothing tells apart.
TEST_CASE("CallersWhoAreNotMappedAreNotShownToAnotherWhoIsNotMapped", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  IdAnswer answer;
  answer.known = true;
  answer.issue.emplace().callers = {{3, kNoUserOrGroup, 77, "payroll"}};
  service.world.history.id = answer;
  Line& line = service.world.connect(kNoUserOrGroup);
  const auto seen = map_of(service.world.ask(line, request("explain", "orders", 2, "\x01")));
  CHECK(seen.at("issued.callers") == "array of 0");
  CHECK(seen.at("issued.unnamed") == "administrators");
}

TEST_CASE("ATextOfASequenceWithoutAFormatIsNone", "[history]") {
  Service service;
  service.ask(next_request(7, "orders"));
  CHECK(service.code(request("explain", "orders", 2, "\xa1x")) != ErrorCode::OK);
  CHECK(service.code(request("explain", "orders", 2, "\xc3")) == ErrorCode::BAD_REQUEST);
}

// After reloads that first removed the sequence and then made it again without periods.
TEST_CASE("ATextThatTellsNoPeriodIsNotExplained", "[history]") {
  Service service;
  service.world.core.settings.by_name.at("orders").periods.rule =
      PeriodRule::make("day", nullptr).value();
  service.ask(next_request(7, "orders"));
  CHECK(service.code(request("explain", "orders", 2,
                             "\xa2"
                             "17")) == ErrorCode::CONFIG);
  // A month is no day.
  service.world.core.settings.by_name.at("orders").text.compiled =
      std::make_shared<IdFormat>(read_template("{date:%Y%m}/{number}").value(), nullptr, IdKeys());
  service.world.core.table->apply_settings(service.world.core.limits);
  CHECK(service.code(request("explain", "orders", 2,
                             "\xa8"
                             "202611/5")) == ErrorCode::CONFIG);
}

}  // namespace
}  // namespace seqd
