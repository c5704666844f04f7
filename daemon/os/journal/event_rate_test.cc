#include "daemon/os/journal/event_rate.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

Event failed(const std::string& sequence) {
  return {EventKind::lease_failed, "no answer", {{"SEQUENCE", sequence}}};
}

TEST_CASE("ARepeatedEventPassesOnceInTenSecondsAndSaysHowManyWereLeftOut") {
  EventRate rate;
  CHECK(rate.pass(failed("a"), 1'000) == 0);
  CHECK(rate.pass(failed("a"), 1'000) == std::nullopt);
  CHECK(rate.pass(failed("a"), 10'999) == std::nullopt);
  CHECK(rate.pass(failed("a"), 11'000) == 2);
  CHECK(rate.pass(failed("a"), 11'001) == std::nullopt);
  CHECK(rate.pass(failed("a"), 21'000) == 1);
}

TEST_CASE("EachSequenceAndEachKindIsCountedForItself") {
  EventRate rate;
  CHECK(rate.pass(failed("a"), 0) == 0);
  CHECK(rate.pass(failed("b"), 0) == 0);
  Event other = failed("a");
  other.kind = EventKind::limit_reached;
  CHECK(rate.pass(other, 0) == 0);
  CHECK(rate.pass(other, 0) == std::nullopt);
}

TEST_CASE("OneUsersEventsDoNotHideThoseOfAnother") {
  EventRate rate;
  const auto of_user = [](EventKind kind, const char* uid) {
    return Event{kind, "", {{"LIMIT", "limits.max_connections"}, {"CLIENT_UID", uid}}};
  };
  for (const EventKind kind : {EventKind::client_dropped, EventKind::limit_reached}) {
    CHECK(rate.pass(of_user(kind, "1000"), 0) == 0);
    for (int i = 0; i < 100; ++i) CHECK(rate.pass(of_user(kind, "1000"), 0) == std::nullopt);
    CHECK(rate.pass(of_user(kind, "1001"), 0) == 0);
    CHECK(rate.pass(of_user(kind, "1001"), 10'000) == 0);
  }
}

TEST_CASE("WhatMattersSinglyAlwaysPasses") {
  EventRate rate;
  for (const EventKind kind :
       {EventKind::gap_epoch_lost, EventKind::sequence_stopped, EventKind::fenced,
        EventKind::state_failed, EventKind::lease_unknown}) {
    Event event = failed("a");
    event.kind = kind;
    for (int i = 0; i < 3; ++i) CHECK(rate.pass(event, 0) == 0);
  }
}

TEST_CASE("ManySubjectsTakeBoundedRoomAndFloodNothing") {
  EventRate rate;
  int passed = 0;
  for (int i = 0; i < 100'000; ++i) passed += rate.pass(failed(std::to_string(i)), 0) ? 1 : 0;
  CHECK(passed == static_cast<int>(EventRate::kMaxSubjects) + 1);
  // Later there is room again.
  CHECK(rate.pass(failed("new"), EventRate::kInterval_ms) == 0);
  CHECK(rate.pass(failed("newer"), EventRate::kInterval_ms) == 0);
}

TEST_CASE("AnotherSubjectTakesThePlaceOfTheOneThatPassedLongestAgo") {
  EventRate rate;
  constexpr int kAll = static_cast<int>(EventRate::kMaxSubjects);
  for (int i = 0; i < kAll; ++i) CHECK(rate.pass(failed(std::to_string(i)), i) == 0);
  CHECK(rate.pass(failed("0"), EventRate::kInterval_ms) == 0);  // the youngest now
  CHECK(rate.pass(failed("one more"), EventRate::kInterval_ms + 1) == 0);
  CHECK(rate.pass(failed("0"), EventRate::kInterval_ms + 1) == std::nullopt);
  CHECK(rate.pass(failed("one more"), EventRate::kInterval_ms + 1) == std::nullopt);
  // Of those that find no place one passes, and says for all how many were left out.
  CHECK(rate.pass(failed("two more"), EventRate::kInterval_ms + 1) == 0);
  CHECK(rate.pass(failed("three more"), EventRate::kInterval_ms + 1) == std::nullopt);
  CHECK(rate.pass(failed("2"), EventRate::kInterval_ms + 1) == std::nullopt);
}

TEST_CASE("WhatWasLeftOutIsToldAlsoOfASubjectThatLostItsPlace") {
  EventRate rate;
  CHECK(rate.pass(failed("a"), 0) == 0);
  for (int i = 0; i < 5; ++i) CHECK(rate.pass(failed("a"), 1) == std::nullopt);
  const auto all = static_cast<int>(EventRate::kMaxSubjects);
  for (int i = 0; i < all; ++i) CHECK(rate.pass(failed(std::to_string(i)), 10'000) == 0);
  CHECK(rate.pass(failed("one more"), 10'001) == 5);
}

TEST_CASE("OfEachKindThereIsRoomForAsManySubjects") {
  EventRate rate;
  for (const EventKind kind : {EventKind::lease_granted, EventKind::lease_failed}) {
    for (std::size_t i = 0; i < EventRate::kMaxSubjects; ++i) {
      Event event = failed(std::to_string(i));
      event.kind = kind;
      CHECK(rate.pass(event, 0) == 0);
      CHECK(rate.pass(event, 0) == std::nullopt);
    }
  }
}

}  // namespace
}  // namespace seqd
