#include "daemon/core/insert/insert_queue.h"

#include <map>
#include <string>

#include "daemon/core/insert/insert_queues.h"
#include "tests/unit/scripted_inserts.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Kind = InsertOutcome::Kind;

// A sequence "users" that inserts, its callers and their answers by document.
struct Desk {
  Desk() {
    SequenceSettings& users = settings.add("users");
    users.mode = SequenceMode::insert;
    users.binding.collection = "users";
    settings.add("orders");
  }
  Status send(const std::string& document, SessionId session = 1, std::int64_t timeout_ms = -1,
              const char* name = "users", UserId user = 1'000, const char* unique = "") {
    const auto done = [this, document](auto answer) {
      CHECK_FALSE(answers.contains(document));
      answers.emplace(document, std::move(answer));
    };
    return queues.insert(name, {session, document, unique, timeout_ms, done, user});
  }
  // Answers of the store and pauses, until nothing moves before `until_ms` from now have passed.
  void settle(std::int64_t until_ms = 1'000) {
    const std::int64_t end = time.monotonic_ms() + until_ms;
    while (time.monotonic_ms() < end) {
      while (store.deliver()) {
      }
      const auto delay = time.next_delay_ms();
      time.advance(std::min(delay.value_or(until_ms), end - time.monotonic_ms()));
    }
    while (store.deliver()) {
    }
  }
  std::int64_t id(const std::string& document) { return *answers.at(document); }
  ErrorCode code(const std::string& document) { return answers.at(document).status().code(); }
  const InsertQueue& queue() { return *queues.find("users"); }

  VirtualTime time;
  SeededRandom random{7};
  RecordedEvents events;
  RecordedReplies replies;
  MemoryLog log;
  ConfiguredSequences settings;
  ScriptedInserts store;
  InsertQueues queues{
      {time, time, random, log, events, replies, nullptr}, settings, {{"default", &store}}, 2};
  std::map<std::string, Result<std::int64_t>> answers;
};

TEST_CASE("DocumentsThatComeWhileABatchIsUnderWayShareTheNextOne", "[insert]") {
  Desk desk;
  for (const char* document : {"a", "b", "c"}) REQUIRE(desk.send(document).ok());
  CHECK(desk.answers.empty());
  CHECK(desk.queue().state_name() == "fetching");
  desk.settle();
  REQUIRE(desk.store.batches.size() == 2);
  CHECK(desk.store.batches[0].items.size() == 1);
  CHECK(desk.store.batches[1].items.size() == 2);
  CHECK(desk.store.batches[1].collection == "users");
  CHECK((desk.id("a") == 1 && desk.id("b") == 2 && desk.id("c") == 3));
  CHECK(desk.queue().last() == 3);
  CHECK(desk.queue().inserted() == 3);
  CHECK(desk.queue().waiting() == 0);
}

TEST_CASE("ABatchIsBoundedByDocumentsAndByBytes", "[insert]") {
  Desk desk;
  REQUIRE(desk.send("first").ok());
  for (std::size_t i = 0; i < InsertQueue::kMostRequests + 1; ++i)
    REQUIRE(desk.send("small " + std::to_string(i)).ok());
  for (char letter : {'x', 'y', 'z'})
    REQUIRE(desk.send(std::string(InsertQueue::kMostBatchBytes, letter)).ok());
  desk.settle();
  REQUIRE(desk.store.batches.size() == 6);
  CHECK(desk.store.batches[1].items.size() == InsertQueue::kMostRequests);
  CHECK(desk.store.batches[2].items.size() == 1);
  CHECK(desk.store.batches[3].items.size() == 1);
  CHECK(desk.answers.size() == InsertQueue::kMostRequests + 5);
}

TEST_CASE("WhatOthersWereFasterWithIsTriedAgainInOrderAndPausesGrow", "[insert]") {
  Desk desk;
  desk.store.scripts.assign(6, {Kind::contended, {}});
  REQUIRE(desk.send("a").ok());
  REQUIRE(desk.send("b").ok());
  desk.settle();
  CHECK((desk.id("a") == 1 && desk.id("b") == 2));
  CHECK(desk.store.batches.size() == 7);
}

TEST_CASE("OthersThatAreAlwaysFasterAreBusyAtTheDeadlineAndNothingIsInserted", "[insert]") {
  Desk desk;
  desk.store.scripts.assign(10'000, {Kind::contended, {}});
  REQUIRE(desk.send("a", 1, 2'000).ok());
  desk.settle(3'000);
  CHECK(desk.code("a") == ErrorCode::BUSY);
  CHECK(desk.answers.at("a").status().text().find("others took the next _id") != std::string::npos);
  CHECK(desk.store.documents.empty());
}

TEST_CASE("ARefusedDocumentIsAnsweredAndTheOthersContinue", "[insert]") {
  Desk desk;
  desk.store.refused = {"b"};
  for (const char* document : {"a", "b", "c"}) REQUIRE(desk.send(document).ok());
  desk.settle();
  CHECK(desk.code("b") == ErrorCode::DOCUMENT_REFUSED);
  CHECK((desk.id("a") == 1 && desk.id("c") == 2));
}

TEST_CASE("AnUnknownOutcomeIsAnsweredOnceAndTheDocumentIsNeverSentAgain", "[insert]") {
  Desk desk;
  desk.store.scripts = {{Kind::unknown, Status(ErrorCode::OUTCOME_UNKNOWN, "maybe _id 1000")}};
  REQUIRE(desk.send("a").ok());
  desk.settle();
  CHECK(desk.code("a") == ErrorCode::OUTCOME_UNKNOWN);
  CHECK(desk.store.batches.size() == 1);
  CHECK(desk.events.count(EventKind::insert_unknown) == 1);
}

TEST_CASE("AnUnknownOutcomeOfADocumentWithAUniqueFieldIsAskedForBySendingItAgain", "[insert]") {
  Desk desk;
  desk.store.scripts = {{Kind::unknown, Status(ErrorCode::OUTCOME_UNKNOWN, "maybe _id 1000")}};
  REQUIRE(desk.send("a", 1, -1, "users", 1'000, "mail").ok());
  desk.settle();
  CHECK(desk.id("a") == 1);
  REQUIRE(desk.store.batches.size() == 2);
  CHECK(desk.store.batches[1].items[0].unique == "mail");
  CHECK(desk.events.count(EventKind::insert_unknown) == 0);
}

TEST_CASE("WhatWasUnknownOnceIsNeverSaidNotToBeThere", "[insert]") {
  Desk desk;
  const Status unknown(ErrorCode::OUTCOME_UNKNOWN, "maybe _id 1000");
  const Status away(ErrorCode::UNAVAILABLE, "no server");
  const Status config(ErrorCode::CONFIG, "the index is gone");
  const Status refused(ErrorCode::DOCUMENT_REFUSED, "validator");
  SECTION("at its deadline") {
    desk.store.scripts.assign(100, {Kind::failed, away});
    desk.store.scripts[0] = {Kind::unknown, unknown};
    REQUIRE(desk.send("a", 1, 200, "users", 1'000, "mail").ok());
    desk.settle(2'000);
    CHECK(desk.code("a") == ErrorCode::OUTCOME_UNKNOWN);
  }
  SECTION("when the daemon ends") {
    desk.store.scripts = {{Kind::unknown, unknown}};
    REQUIRE(desk.send("a", 1, -1, "users", 1'000, "mail").ok());
    REQUIRE(desk.store.deliver());
    desk.queues.begin_stop({ErrorCode::STOPPING, "stopping"});
    CHECK(desk.code("a") == ErrorCode::OUTCOME_UNKNOWN);
  }
  SECTION("for another reason than the document") {
    desk.store.scripts = {{Kind::unknown, unknown}, {Kind::refused, config}};
    REQUIRE(desk.send("a", 1, -1, "users", 1'000, "mail").ok());
    desk.settle();
    CHECK(desk.code("a") == ErrorCode::OUTCOME_UNKNOWN);
  }
  SECTION("but what refuses it now has refused it then") {
    desk.store.scripts = {{Kind::unknown, unknown}, {Kind::refused, refused}};
    REQUIRE(desk.send("a", 1, -1, "users", 1'000, "mail").ok());
    desk.settle();
    CHECK(desk.code("a") == ErrorCode::DOCUMENT_REFUSED);
  }
}

TEST_CASE("AStoreThatIsAwayIsAskedAgainUntilTheDeadlineOfEach", "[insert]") {
  Desk desk;
  const Status away(ErrorCode::UNAVAILABLE, "no server");
  desk.store.scripts.assign(4, {Kind::failed, away});
  REQUIRE(desk.send("impatient", 1, 40).ok());
  REQUIRE(desk.send("patient", 1, 60'000).ok());
  desk.settle(60);
  CHECK(desk.code("impatient") == ErrorCode::UNAVAILABLE);
  CHECK(desk.queue().error().code() == ErrorCode::UNAVAILABLE);
  desk.settle(30'000);
  CHECK(desk.id("patient") == 1);
  CHECK(desk.queue().error().ok());
  CHECK(desk.events.count(EventKind::insert_failed) == 1);
}

TEST_CASE("ARequestThatMayNotWaitIsSentAtOnceOrNotAtAll", "[insert]") {
  Desk desk;
  REQUIRE(desk.send("at once", 1, 0).ok());
  REQUIRE(desk.send("too late", 1, 0).ok());
  desk.time.advance(1);
  CHECK(desk.code("too late") == ErrorCode::BUSY);
  desk.settle();
  CHECK(desk.id("at once") == 1);
}

TEST_CASE("AFullQueueIsBusy", "[insert]") {
  Desk desk;
  desk.settings.by_name["users"].max_waiters = 2;
  REQUIRE(desk.send("a", 1, -1, "users", 1'000).ok());
  REQUIRE(desk.send("b", 1, -1, "users", 2'000).ok());
  CHECK(desk.send("c", 1, -1, "users", 3'000).code() == ErrorCode::BUSY);
  desk.settle();
  REQUIRE(desk.send("c").ok());
  desk.settings.by_name["users"].max_waiters = 1'000;
  Status status;
  int sent = 0;
  for (; status.ok() && sent < 100; ++sent)
    status = desk.send(std::to_string(sent) + std::string(1 << 20, ' '));
  CHECK(status.code() == ErrorCode::BUSY);
  CHECK(sent == 64);
}

// Nobody else's document could wait for that sequence.
TEST_CASE("OneUserCannotTakeAllPlacesOfAQueue", "[insert]") {
  Desk desk;
  desk.settings.by_name["users"].max_waiters = 16;
  int sent = 0;
  while (desk.send("a" + std::to_string(sent), 1, -1, "users", 1'000).ok()) REQUIRE(++sent < 100);
  CHECK(desk.send("other", 2, -1, "users", 2'000).ok());
  CHECK(desk.send("third", 3, -1, "users", 3'000).ok());
  CHECK(desk.send("more", 1, -1, "users", 1'000).code() == ErrorCode::BUSY);
  desk.settle();
  CHECK(desk.queue().waiting() == 0);
  while (desk.send("b" + std::to_string(sent), 1, -1, "users", 1'000).ok()) --sent;
  CHECK(sent == 0);  // as many as before
}

TEST_CASE("ARefusedCallerGetsTheErrorUnlessItsDocumentIsAtTheStore", "[insert]") {
  Desk desk;
  REQUIRE(desk.send("at the store", 1).ok());
  REQUIRE(desk.send("waits", 1).ok());
  REQUIRE(desk.send("other", 2).ok());
  desk.queues.cancel(1, [](std::string_view name) {
    return name == "users" ? Status(ErrorCode::DENIED, "no") : Status();
  });
  CHECK(desk.code("waits") == ErrorCode::DENIED);
  CHECK_FALSE(desk.answers.contains("at the store"));
  desk.settle();
  CHECK(desk.id("at the store") == 1);
  CHECK(desk.id("other") == 2);
  CHECK(desk.queue().waiting() == 0);
}

TEST_CASE("DocumentsThatLeftTheQueueMakeRoomForOthers", "[insert]") {
  const std::string how = GENERATE("expired", "cancelled", "inserted");
  CAPTURE(how);
  Desk desk;
  desk.settings.by_name["users"].max_waiters = 1'000;
  const auto fill = [&](const std::string& name) {
    int sent = 0;
    while (sent < 100 &&
           desk.send(name + std::to_string(sent) + std::string(1 << 20, ' '), 2, 500).ok())
      ++sent;
    return sent;
  };
  REQUIRE(desk.send("at the store").ok());
  CHECK(fill("first") == 63);
  if (how == "expired") desk.time.advance(501);
  if (how == "cancelled") desk.queues.cancel(2);
  if (how == "inserted") desk.settle(400);
  CHECK(desk.queue().waiting() == (how == "inserted" ? 0 : 1));
  CHECK(fill("second") == 63);
}

// What waits is bounded for all sequences together, and one user gets a share of it.
TEST_CASE("DocumentsOfAllSequencesAreBoundedAndOneUserDoesNotTakeAllTheRoom", "[insert]") {
  Desk desk;
  for (const char* name : {"users", "others"}) {
    desk.settings.add(name).mode = SequenceMode::insert;
    desk.settings.by_name[name].binding.collection = name;
  }
  const auto fill = [&](UserId user) {
    int sent = 0;
    for (const char* name : {"users", "others"}) {
      for (int at = 0; at < 200; ++at) {
        const std::string document = std::to_string(user) + name + std::to_string(at);
        const Status added =
            desk.send(document + std::string(1 << 20, ' '), user, 60'000, name, user);
        if (added.ok()) ++sent;
        if (!added.ok()) CHECK(added.code() == ErrorCode::BUSY);
      }
    }
    return sent;
  };
  CHECK(fill(1'000) == 63);
  CHECK(fill(2'000) == 32);
  CHECK(fill(3'000) == 16);
  desk.queues.cancel(1'000);
  desk.queues.cancel(2'000);
  desk.queues.cancel(3'000);
  desk.settle();
  CHECK(desk.queues.waiting() == 0);
  CHECK(fill(4'000) == 63);
}

TEST_CASE("WhatASessionThatIsGoneWaitedForIsNotInserted", "[insert]") {
  Desk desk;
  desk.store.scripts = {{Kind::contended, {}}};
  REQUIRE(desk.send("at the store", 5).ok());
  REQUIRE(desk.send("waiting", 5).ok());
  REQUIRE(desk.send("of another", 6).ok());
  desk.queues.cancel(5);
  desk.settle();
  CHECK(desk.store.documents == std::vector<std::string>{"of another"});
  CHECK(desk.answers.size() == 1);
}

TEST_CASE("AStopFailsWaitingInsertsAndAnswersThoseAtTheStore", "[insert]") {
  Desk desk;
  REQUIRE(desk.send("at the store").ok());
  REQUIRE(desk.send("waiting").ok());
  desk.queues.begin_stop({ErrorCode::STOPPING, "stop"});
  CHECK(desk.code("waiting") == ErrorCode::STOPPING);
  CHECK_FALSE(desk.queues.settled());
  CHECK(desk.send("after").code() == ErrorCode::STOPPING);
  desk.settle();
  CHECK(desk.queues.settled());
  CHECK(desk.id("at the store") == 1);
}

TEST_CASE("InsertsThatDidNotCompleteAtAStopFailToo", "[insert]") {
  Desk desk;
  desk.store.scripts = {{Kind::contended, {}}};
  REQUIRE(desk.send("at the store").ok());
  desk.queues.begin_stop({ErrorCode::STOPPING, "stop"});
  desk.settle();
  CHECK(desk.code("at the store") == ErrorCode::STOPPING);
  CHECK(desk.store.documents.empty());
}

TEST_CASE("ASequenceThatLeasesOrIsUnknownOrHasNoSuchStoreDoesNotInsert", "[insert]") {
  Desk desk;
  CHECK(desk.send("a", 1, -1, "orders").code() == ErrorCode::WRONG_MODE);
  CHECK(desk.send("a", 1, -1, "nobody").code() == ErrorCode::NO_SEQUENCE);
  SequenceSettings& other = desk.settings.add("other");
  other.mode = SequenceMode::insert;
  other.store = "sqlite";
  CHECK(desk.send("a", 1, -1, "other").code() == ErrorCode::CONFIG);
  other.store = "default";
  REQUIRE(desk.send("a", 1, -1, "other").ok());
  REQUIRE(desk.send("b").ok());
  desk.settings.add("third").mode = SequenceMode::insert;
  CHECK(desk.send("c", 1, -1, "third").code() == ErrorCode::BUSY);
  CHECK(desk.queues.list().size() == 2);
  CHECK(desk.queues.waiting() == 2);
  desk.settle();
  CHECK(desk.queues.inserted() == 2);
}

}  // namespace
}  // namespace seqd
