#include "daemon/core/registers/register_queue.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/memory_register.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Kind = RegisterAnswer::Kind;
using Wants = RegisterQueue::Wanted::Kind;
using Fault = MemoryRegister::Fault;

// A register "invoices" of 2026 on a store, as hosts see it, and what their callers are answered.
struct Office {
  Office() { settings.add("invoices").wait_timeout_ms = 5'000; }

  RegisterQueue& host(std::size_t number = 0) {
    while (hosts.size() <= number) {
      const auto place = [this]() -> Result<RegisterPlace> {
        if (!unproven.ok()) return unproven;
        RegisterPlace found;
        found.binding = settings.by_name.at("invoices").binding;
        found.binding.key = "invoices";
        found.period = "2026";
        return found;
      };
      const auto text = [](std::int64_t id, std::int64_t /*wall_ms*/) {
        return "INV-" + std::to_string(id);
      };
      hosts.push_back(
          std::make_unique<RegisterQueue>(context, settings, accounts, "invoices", store,
                                          RegisterQueue::Period{place, text, may_refill}));
    }
    return *hosts[number];
  }
  std::size_t ask(RegisterQueue::Wanted wanted, std::size_t at = 0) {
    const std::size_t number = asked++;
    wanted.by = "tester";
    wanted.done = [this, number](auto answer) {
      CHECK_FALSE(answers.contains(number));
      answers.emplace(number, std::move(answer));
    };
    const Status added = host(at).add(std::move(wanted));
    if (!added.ok()) answers.emplace(number, added);
    return number;
  }
  std::size_t assign(const std::string& key, std::size_t at = 0, SessionId session = 1,
                     std::int64_t timeout_ms = -1) {
    RegisterQueue::Wanted wanted;
    wanted.key = key;
    wanted.session = session;
    wanted.timeout_ms = timeout_ms;
    return ask(std::move(wanted), at);
  }
  std::size_t end(Wants kind, std::int64_t number, const std::string& key, std::size_t at = 0) {
    RegisterQueue::Wanted wanted;
    wanted.kind = kind;
    wanted.number = number;
    wanted.key = key;
    wanted.reason = "withdrawn";
    wanted.session = 1;
    return ask(std::move(wanted), at);
  }
  // Answers of the store and pauses, until nothing moves before so many milliseconds have passed.
  void settle(std::int64_t for_ms = 1'000) {
    const std::int64_t until_ms = time.monotonic_ms() + for_ms;
    while (time.monotonic_ms() < until_ms) {
      while (store.deliver()) {
      }
      const auto delay = time.next_delay_ms();
      time.advance(std::min(delay.value_or(for_ms), until_ms - time.monotonic_ms()));
    }
    while (store.deliver()) {
    }
  }
  std::int64_t number(std::size_t asked_as) { return answers.at(asked_as)->record.number; }
  Kind kind(std::size_t asked_as) { return answers.at(asked_as)->kind; }
  ErrorCode code(std::size_t asked_as) { return answers.at(asked_as).status().code(); }
  std::int64_t assigned(const std::string& key, std::size_t at = 0) {
    const std::size_t asked_as = assign(key, at);
    settle();
    return number(asked_as);
  }
  Kind ended(Wants wants, std::int64_t number, const std::string& key) {
    const std::size_t asked_as = end(wants, number, key);
    settle();
    return kind(asked_as);
  }

  VirtualTime time;
  SeededRandom random{7};
  RecordedEvents events;
  RecordedReplies replies;
  MemoryLog log;
  ConfiguredSequences settings;
  MemoryRegister store;
  InsertAccounts accounts;
  Status unproven;
  std::function<bool(const NumberRecord&, std::int64_t)> may_refill;
  CoreContext context{time, time, random, log, events, replies, nullptr};
  std::size_t asked = 0;
  std::map<std::size_t, Result<RegisterAnswer>> answers;
  std::vector<std::unique_ptr<RegisterQueue>> hosts;  // last
};

TEST_CASE("RequestsThatComeTogetherAreOneReadAndOneWrite", "[register]") {
  Office office;
  const std::size_t first = office.assign("a");
  REQUIRE(office.answers.empty());
  office.time.advance(0);
  std::vector<std::size_t> later;
  for (const char* key : {"b", "c", "b", "d"}) later.push_back(office.assign(key));
  office.settle();
  CHECK((office.store.reads == 2 && office.store.writes.size() == 2));
  CHECK(office.number(first) == 1);
  CHECK((office.number(later[0]) == 2 && office.number(later[2]) == 2));
  CHECK((office.number(later[1]) == 3 && office.number(later[3]) == 4));
  const NumberRecord& record = office.answers.at(later[3])->record;
  CHECK(record == office.store.of_key("d"));
  CHECK((record.text == "INV-4" && record.period == "2026" && record.assigned.by == "tester"));
}

TEST_CASE("AKeyThatHasANumberIsAnsweredWithoutAWrite", "[register]") {
  Office office;
  REQUIRE(office.assigned("a") == 1);
  CHECK(office.assigned("a", 1) == 1);
  CHECK(office.store.writes.size() == 1);
  // In another period: a retry after the turn of the year.
  NumberRecord& old = office.store.records[{"2025", 77}];
  old.period = "2025";
  old.number = 77;
  old.key = "late";
  const std::size_t late = office.assign("late");
  office.settle();
  CHECK((office.number(late) == 77 && office.answers.at(late)->record.period == "2025"));
}

TEST_CASE("HostsThatAreInEachOthersWayLeaveNoHole", "[register]") {
  Office office;
  std::vector<std::size_t> asked;
  for (int key = 0; key < 60; ++key)
    asked.push_back(
        office.assign("key" + std::to_string(key % 40), static_cast<std::size_t>(key) % 4));
  office.settle(20'000);
  std::map<std::string, std::int64_t> numbers;
  for (const auto& [at, record] : office.store.records) numbers[record.key] = record.number;
  REQUIRE((numbers.size() == 40 && office.store.records.rbegin()->first.second == 40));
  for (int key = 0; key < 60; ++key)
    CHECK(office.number(asked[static_cast<std::size_t>(key)]) ==
          numbers.at("key" + std::to_string(key % 40)));
}

TEST_CASE("AnAnswerThatWasLostIsFoundByReading", "[register]") {
  Office office;
  const Fault fault = GENERATE(Fault::refused, Fault::lost, Fault::lost_and_applied);
  office.store.faults = {fault, fault};
  const std::size_t a = office.assign("a");
  const std::size_t b = office.assign("b");
  office.settle(4'000);
  CHECK((office.number(a) == 1 && office.number(b) == 2));
  CHECK(office.host().error().ok());
  office.store.faults = {fault};
  const std::size_t confirmed = office.end(Wants::confirm, 1, "a");
  office.settle(4'000);
  CHECK(office.kind(confirmed) == Kind::done);
  office.store.faults = {fault};
  const std::size_t cancelled = office.end(Wants::cancel, 2, "b");
  office.settle(4'000);
  CHECK(office.kind(cancelled) == Kind::done);
  CHECK(office.store.of_number({"2026", 2})->former.size() == 1);
}

TEST_CASE("AStoreThatIsAwayOrUnprovenIsAskedAgainUntilTheDeadline", "[register]") {
  Office office;
  const bool is_unproven = GENERATE(false, true);
  if (is_unproven) office.unproven = {ErrorCode::UNAVAILABLE, "it is not proven yet"};
  office.store.is_away = true;
  const std::size_t impatient = office.assign("a", 0, 1, 200);
  const std::size_t patient = office.assign("b", 0, 1, 60'000);
  office.settle(1'000);
  CHECK(office.code(impatient) == ErrorCode::UNAVAILABLE);
  CHECK((office.store.reads == 0) == is_unproven);
  CHECK(office.host().state_name() == "waiting");
  office.store.is_away = false;
  office.unproven = {};
  office.settle(30'000);
  CHECK(office.number(patient) == 1);
}

TEST_CASE("ConfirmAndCancelNameNumberAndKeyAndMayBeRepeated", "[register]") {
  Office office;
  REQUIRE((office.assigned("a") == 1 && office.assigned("b") == 2));
  for (const Wants wants : {Wants::confirm, Wants::cancel}) {
    CHECK(office.ended(wants, 1, "b") == Kind::no_key);
    CHECK(office.ended(wants, 3, "a") == Kind::no_key);
  }
  CHECK(office.ended(Wants::confirm, 1, "a") == Kind::done);
  CHECK(office.ended(Wants::confirm, 1, "a") == Kind::done);
  CHECK(office.ended(Wants::cancel, 1, "a") == Kind::confirmed);
  CHECK(office.ended(Wants::cancel, 2, "b") == Kind::done);
  CHECK(office.ended(Wants::cancel, 2, "b") == Kind::done);
  CHECK(office.ended(Wants::confirm, 2, "b") == Kind::cancelled);
  CHECK(office.store.of_number({"2026", 2})->state == NumberState::voided);
  CHECK(office.assigned("b") == 3);
}

TEST_CASE("WhatTheStoreRefusesForGoodFailsItsOwnRequestAlone", "[register]") {
  Office office;
  REQUIRE((office.assigned("a") == 1 && office.assigned("b") == 2));
  const bool is_read = GENERATE(false, true);
  (is_read ? office.store.unreadable : office.store.refused) = {"a", "bad"};
  const std::size_t first = office.assign("c");
  office.time.advance(0);  // the next round has all of these
  std::vector<std::size_t> good{first, office.end(Wants::confirm, 2, "b")};
  std::vector<std::size_t> bad{office.assign("bad"), office.end(Wants::cancel, 1, "a"),
                               office.assign("bad")};
  good.push_back(office.assign("d"));
  office.settle(100);
  for (const std::size_t at : good) CHECK(office.kind(at) == Kind::done);
  for (const std::size_t at : bad) CHECK(office.code(at) == ErrorCode::STORE_REFUSED);
  CHECK((office.number(first) == 3 && office.number(good.back()) == 4));
  CHECK(office.host().error().ok());
  CHECK(office.host().waiting() == 0);
}

TEST_CASE("TwoForOneNumberInOneRoundAreBothAnswered", "[register]") {
  Office office;
  REQUIRE(office.assigned("a") == 1);
  const std::size_t busy = office.assign("b");
  office.time.advance(0);  // the next round has all of these
  const std::size_t confirm = office.end(Wants::confirm, 1, "a");
  const std::size_t cancel = office.end(Wants::cancel, 1, "a");
  const std::size_t again = office.end(Wants::confirm, 1, "a");
  office.settle();
  CHECK((office.number(busy) == 2 && office.kind(confirm) == Kind::done));
  CHECK((office.kind(cancel) == Kind::confirmed && office.kind(again) == Kind::done));
}

TEST_CASE("APeriodThatIsClosedOrFullGivesNoMoreNumbers", "[register]") {
  Office office;
  REQUIRE(office.assigned("a") == 1);
  const bool is_closed = GENERATE(false, true);
  if (is_closed) office.store.closed.insert("2026");
  if (!is_closed) office.settings.by_name.at("invoices").max_value = 1;
  const std::size_t refused = office.assign("b");
  office.settle();
  CHECK(office.kind(refused) == (is_closed ? Kind::closed : Kind::exhausted));
  CHECK(office.assigned("a") == 1);
  CHECK(office.ended(Wants::confirm, 1, "a") == Kind::done);
}

TEST_CASE("AFreeNumberGoesToAnotherKeyWhereThatIsAllowed", "[register]") {
  Office office;
  const bool is_allowed = GENERATE(false, true);
  office.may_refill = [is_allowed](const NumberRecord& record, std::int64_t /*wall_ms*/) {
    return is_allowed || record.number == 0;
  };
  REQUIRE((office.assigned("a") == 1 && office.assigned("b") == 2 && office.assigned("c") == 3));
  CHECK(office.ended(Wants::cancel, 1, "a") == Kind::done);
  CHECK(office.ended(Wants::cancel, 2, "b") == Kind::done);
  REQUIRE(office.store.of_number({"2026", 1})->state == NumberState::free);
  CHECK(office.assigned("a") == 4);  // never the one that it had
  const std::int64_t d = office.assigned("d");
  CHECK(d == (is_allowed ? 1 : 5));
  if (is_allowed) {
    CHECK(office.store.of_number({"2026", 1})->text == "INV-1");
    CHECK(office.ended(Wants::cancel, 1, "d") == Kind::done);
    CHECK(office.assigned("e") == 1);
    CHECK(office.store.of_number({"2026", 1})->former.size() == 2);
  }
}

TEST_CASE("WhoIsGoneGetsNoNumber", "[register]") {
  Office office;
  static_cast<void>(office.assign("first", 0, 4));
  static_cast<void>(office.assign("gone", 0, 5));
  const std::size_t other = office.assign("other", 0, 6);
  office.host().cancel(5);
  office.time.advance(0);
  REQUIRE(office.store.reads == 1);
  office.host().cancel(4);  // between the reading and its answer
  office.settle();
  CHECK(office.number(other) == 1);
  CHECK(office.store.records.size() == 1);
  CHECK(office.answers.size() == 1);
}

TEST_CASE("AStopFailsRequestsThatWaitAndAnswersThoseAtTheStore", "[register]") {
  Office office;
  const std::size_t at_the_store = office.assign("a");
  office.time.advance(0);
  const std::size_t waits = office.assign("b");
  office.host().begin_stop({ErrorCode::STOPPING, "stop"});
  CHECK(office.code(waits) == ErrorCode::STOPPING);
  CHECK(office.host().in_flight());
  office.settle();
  CHECK(office.number(at_the_store) == 1);
  CHECK(office.code(office.assign("c")) == ErrorCode::STOPPING);
}

}  // namespace
}  // namespace seqd
