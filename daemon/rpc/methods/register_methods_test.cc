#include <map>
#include <string>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr UserId kOther = 1'001;
// The world begins in 2023.

std::string text(std::string_view value) {
  protocol::Buffer out;
  protocol::append_text(out, value);
  return std::string(out.data(), out.size());
}

std::string number_option(std::int64_t number) {
  protocol::Buffer out;
  protocol::append_integer(out, number);
  return "\x81" + text("number") + std::string(out.data(), out.size());
}

struct Office : Service {
  Office() {
    SequenceSettings& settings = world.core.settings.add("invoices");
    settings.mode = SequenceMode::registers;
    settings.periods.period = "year";
    settings.periods.rule = PeriodRule::make("year", nullptr).value();
    settings.binding.key = "";
    world.core.settings.add("tickets").mode = SequenceMode::registers;
  }
  // The first request waits until the store is proven.
  Reply by(UserId user, const std::string& bytes) {
    Line& from = world.connect(user);
    std::vector<Reply> heard = world.call(from, bytes);
    for (int tries = 0; heard.empty() && tries < 200; ++tries) {
      world.core.advance(100);
      world.settle();
      heard = from.replies();
    }
    REQUIRE(heard.size() == 1);
    return heard.front();
  }
  std::map<std::string, std::string> assign(const std::string& key,
                                            const std::string& name = "invoices") {
    return map_of(by(1'000, request("assign", name, 2, text(key))));
  }
  ErrorCode code(const std::string& bytes, UserId user = 1'000) { return by(user, bytes).code; }
};

TEST_CASE("AKeyHasOneNumberHoweverOftenItAsks", "[rpc][register]") {
  Office office;
  const auto first = office.assign("a");
  CHECK((first.at("number") == "1" && first.at("text") == "1" && first.at("period") == "2023"));
  CHECK((first.at("state") == "assigned" && first.at("key") == "a"));
  CHECK(first.at("assigned.by") == "host:1000:1");
  CHECK(office.assign("b").at("number") == "2");
  CHECK(office.assign("a") == first);
  CHECK(office.assign("late", "invoices@2022").at("number") == "1");
  CHECK(office.assign("late").at("period") == "2022");
  CHECK(office.assign("c", "tickets").at("number") == "1");
  CHECK(office.world.numbers.asked.heartbeat > 0);
}

TEST_CASE("KeysAreTextsUuidsOrObjectIds", "[rpc][register]") {
  Office office;
  const auto key_of = [&](const std::string& bytes) {
    return map_of(office.by(1'000, request("assign", "tickets", 2, bytes))).at("key");
  };
  CHECK(key_of("\xc4\x10" + std::string("0123456789abcdef")) ==
        "30313233-3435-3637-3839-616263646566");
  CHECK(key_of("\xc4\x0c" + std::string("0123456789ab")) == "303132333435363738396162");
  CHECK(key_of(text(std::string(256, 'x'))) == std::string(256, 'x'));
  for (const std::string& bad : {std::string(), std::string(257, 'x'), std::string("a\nb"),
                                 std::string("\xff"), std::string("a\0b", 3)}) {
    CHECK(office.code(request("assign", "tickets", 2, text(bad))) == ErrorCode::BAD_REQUEST);
  }
  CHECK(office.code(request("assign", "tickets", 2,
                            "\xc4\x03"
                            "abc")) == ErrorCode::BAD_REQUEST);
  CHECK(office.code(request("assign", "tickets", 2, "\x07")) == ErrorCode::BAD_REQUEST);
  CHECK(office.world.numbers.records.size() == 3);
}

TEST_CASE("ConfirmAndCancelFindTheNumberOfTheKeyInAnyPeriod", "[rpc][register]") {
  Office office;
  office.assign("old", "invoices@2022");
  office.assign("a");
  office.assign("b");
  const std::string gone = text("withdrawn");
  CHECK(map_of(office.by(1'000, request("confirm", "invoices", 2, text("old")))).at("state") ==
        "confirmed");
  CHECK(office.code(request("cancel", "invoices", 3, text("old") + gone)) ==
        ErrorCode::KEY_CONFIRMED);
  CHECK(office.code(request("cancel", "invoices", 3, text("nothing") + gone)) == ErrorCode::NO_KEY);
  CHECK(office.code(request("confirm", "invoices", 2, text("nothing"))) == ErrorCode::NO_KEY);
  const auto cancelled =
      map_of(office.by(1'000, request("cancel", "invoices", 3, text("a") + gone)));
  CHECK((cancelled.at("state") == "void" && cancelled.at("former") == "array of 1"));
  CHECK(office.code(request("cancel", "invoices", 3, text("a") + gone)) == ErrorCode::NO_KEY);
  CHECK(office.assign("a").at("number") == "3");
  // By its number it may be sent again, and leaves the next one alone.
  CHECK(map_of(
            office.by(1'000, request("cancel", "invoices", 4, text("a") + gone + number_option(1))))
            .at("number") == "1");
  CHECK(office.code(request("confirm", "invoices", 3, text("a") + number_option(1))) ==
        ErrorCode::NO_KEY);
  CHECK(office.assign("a").at("state") == "assigned");
}

TEST_CASE("ALostAnswerOfACancelIsFoundThoughTheKeyHasNoNumberThen", "[rpc][register]") {
  Office office;
  office.assign("a");
  office.world.numbers.faults = {MemoryRegister::Fault::lost_and_applied};
  CHECK(map_of(office.by(1'000, request("cancel", "invoices", 3, text("a") + text("withdrawn"))))
            .at("state") == "void");
}

TEST_CASE("OnlyWhoAssignedANumberAndAdministratorsEndAndSeeIt", "[rpc][register]") {
  Office office;
  office.assign("a");
  office.assign("b");
  const std::string confirm = request("confirm", "invoices", 2, text("a"));
  const std::string cancel = request("cancel", "invoices", 3, text("a") + text("withdrawn"));
  CHECK(office.code(confirm, kOther) == ErrorCode::DENIED);
  CHECK(office.code(cancel, kOther) == ErrorCode::DENIED);
  const auto seen = [&](UserId user) {
    return map_of(office.by(user, request("records", "invoices"))).at("records");
  };
  CHECK((seen(kOther) == "array of 0" && seen(1'000) == "array of 2"));
  CHECK((seen(0) == "array of 2" && office.code(cancel, 0) == ErrorCode::OK));
  CHECK(office.code(request("close", "invoices"), kOther) == ErrorCode::DENIED);
  office.world.core.settings.by_name.at("invoices").access.deny.compiled = {false, {kOther}, {}};
  for (const std::string& bytes : {confirm, cancel, request("records", "invoices"),
                                   request("assign", "invoices", 2, text("c"))})
    CHECK(office.code(bytes, kOther) == ErrorCode::DENIED);
}

TEST_CASE("AClosedPeriodGivesNoMoreNumbers", "[rpc][register]") {
  Office office;
  office.assign("a", "invoices@2022");
  CHECK(office.by(0, request("close", "invoices@2022")).id() == 1);
  CHECK(office.by(0, request("close", "invoices@2022")).id() == 1);
  CHECK(office.world.core.events.count(EventKind::administered) == 2);
  CHECK(office.code(request("assign", "invoices@2022", 2, text("b"))) ==
        ErrorCode::SEQ_PERIOD_CLOSED);
  CHECK(office.assign("a", "invoices@2022").at("number") == "1");
  CHECK(office.code(request("confirm", "invoices", 2, text("a"))) == ErrorCode::OK);
  CHECK(office.assign("b").at("period") == "2023");
}

TEST_CASE("WhatIsNoRegisterOrNoPeriodIsRefusedWithWords", "[rpc][register]") {
  Office office;
  const auto assign = [&](const std::string& name) {
    return office.code(request("assign", name, 2, text("a")));
  };
  CHECK(assign("orders") == ErrorCode::WRONG_MODE);
  CHECK(assign("nothing") == ErrorCode::NO_SEQUENCE);
  CHECK(assign("invoices@2024") == ErrorCode::BAD_REQUEST);  // has not begun
  CHECK(assign("invoices@12") == ErrorCode::BAD_REQUEST);
  CHECK(assign("tickets@2023") == ErrorCode::BAD_REQUEST);
  for (const char* method : {"next", "next_text", "gaps", "audit"})
    CHECK(office.code(request(method, "invoices", 1)) == ErrorCode::WRONG_MODE);
  CHECK(office.code(request("drain", "invoices"), 0) == ErrorCode::WRONG_MODE);
  CHECK(office.code(request("purge", "invoices", 2, "\xc2"), 0) == ErrorCode::WRONG_MODE);
  for (const std::string& bytes :
       {request("assign", 0, ""), request("assign", "invoices"), request("assign", 1, "\x01"),
        request("assign", "invoices", 3, text("a") + "\x01"),
        request("assign", "invoices", 3, text("a") + number_option(1)),
        request("cancel", "invoices", 2, text("a")),
        request("cancel", "invoices", 3, text("a") + text("")),
        request("confirm", "invoices", 3, text("a") + number_option(0)), request("records", 0, ""),
        request("records", "invoices", 2, "\x01"),
        request("records", "invoices", 2, number_option(1)),
        request("records", "invoices", 2, "\x81" + text("state") + text("sold")),
        request("records", "invoices", 2, "\x81" + text("limit") + std::string(1, '\0'))}) {
    CHECK(office.code(bytes) == ErrorCode::BAD_REQUEST);
  }
  CHECK(office.world.numbers.records.empty());
}

TEST_CASE("APageOfARegisterContinuesBehindItsLastNumber", "[rpc][register]") {
  Office office;
  for (const char* key : {"a", "b", "c"}) office.assign(key, "tickets");
  const auto page = [&](const std::string& options) {
    return map_of(office.by(1'000, request("records", "tickets", 2, options)));
  };
  auto said = page("\x81" + text("limit") + "\x02");
  CHECK((said.at("records") == "array of 2" && said.at("after") == "2"));
  said = page("\x82" + text("limit") + "\x02" + text("after") + "\x02");
  CHECK((said.at("records") == "array of 1" && said.at("after") == "nil"));
  said = page("\x81" + text("state") + text("void"));
  CHECK(said.at("records") == "array of 0");
}

TEST_CASE("AStoreThatHasLessThanItHadStopsTheRegisterUntilItIsAdvanced", "[rpc][register]") {
  Office office;
  for (const char* key : {"a", "b", "c", "d"}) office.assign(key);
  auto& records = office.world.numbers.records;
  records.erase({"2023", 3});
  records.erase({"2023", 4});
  const bool restarted = GENERATE(false, true);
  if (restarted) {
    office.world.kill();
    office.world.start();
  }
  const Reply refused = office.by(1'000, request("assign", "invoices", 2, text("e")));
  CHECK(refused.code == ErrorCode::SEQ_REGRESSED);
  CHECK(refused.text.find("had 4 numbers") != std::string::npos);
  CHECK(refused.text.find("seqctl advance invoices@2023") != std::string::npos);
  CHECK(office.world.core.events.count(EventKind::sequence_stopped) == 1);
  CHECK(office.code(request("records", "invoices")) == ErrorCode::SEQ_REGRESSED);
  CHECK(office.code(request("advance", "invoices", 2, "\x09"), 0) == ErrorCode::BAD_REQUEST);
  CHECK(office.by(0, request("advance", "invoices@2023")).id() == 5);
  const NumberRecord& lost = records.at({"2023", 3});
  CHECK((lost.state == NumberState::voided && lost.former.at(0).reason == "restored"));
  CHECK(lost.former.at(0).cancelled.by == "host:0:1");
  CHECK(office.assign("c").at("number") == "5");
  CHECK(office.assign("a").at("number") == "1");
}

TEST_CASE("ExplainShowsTheKeyOfANumberOrWhyItIsVoid", "[rpc][register]") {
  Office office;
  office.assign("a");
  office.assign("b");
  office.by(1'000, request("cancel", "invoices", 3, text("b") + text("withdrawn")));
  const auto said = [&](const std::string& id, UserId user = 1'000) {
    return map_of(office.by(user, request("explain", "invoices", 2, id)));
  };
  CHECK((said("\x01").at("answer") == "assigned" && said("\x01").at("record.key") == "a"));
  CHECK(said("\x02", 0).at("text").find("for the key \"b\" by host:1000:1: withdrawn") !=
        std::string::npos);
  CHECK(said("\x03").at("answer") == "not_issued");
  CHECK(office.code(request("explain", "invoices", 2, "\x01"), kOther) == ErrorCode::DENIED);
  CHECK(office.code(request("explain", "invoices", 2, std::string(1, '\0'))) ==
        ErrorCode::BAD_REQUEST);
  CHECK(office.code(request("explain", "invoices@2024", 2, "\x01")) == ErrorCode::BAD_REQUEST);
}

TEST_CASE("AnOlderCopyThatLostNothingOfAClosedPeriodIsAdvanced", "[rpc][register]") {
  Office office;
  office.assign("a", "invoices@2022");
  CHECK(office.by(0, request("close", "invoices@2022")).id() == 1);
  CHECK(office.by(0, request("advance", "invoices@2022")).id() == 2);
  office.world.numbers.records.clear();
  CHECK(office.by(0, request("advance", "invoices@2022")).code == ErrorCode::SEQ_PERIOD_CLOSED);
}

TEST_CASE("AStoreThatIsNotProvenYetIsNotAsked", "[rpc][register]") {
  Office office;
  office.assign("a", "tickets");
  office.world.kill();
  office.world.start();
  const int before = office.world.numbers.reads;
  office.world.send(office.world.connect(1'000), request("assign", "tickets", 2, text("b")));
  office.world.core.time.advance(0);
  CHECK(office.world.numbers.reads == before);
}

TEST_CASE("AStoreIsRaisedForRegistersThatAreConfiguredAsTheyWere", "[rpc][register]") {
  Office office;
  office.assign("a", "invoices@2022");
  office.assign("b");
  office.assign("c", "tickets");
  CHECK(office.world.registers->known("default") ==
        std::vector<std::string>{"invoices@2022", "invoices@2023", "tickets"});
  CHECK(office.world.registers->known("other").empty());
  auto& configured = office.world.core.settings.by_name;
  configured.erase("tickets");
  configured.at("invoices").periods.rule = nullptr;
  CHECK(office.world.registers->known("default").empty());
}

TEST_CASE("AdministratorsNeedNoRightToTakeNumbers", "[rpc][register]") {
  Office office;
  office.assign("a", "invoices@2022");
  office.world.core.settings.by_name.at("invoices").access.allow.compiled = {false, {1'000}, {}};
  const UserId administrator = ScriptedControl::kUser;
  CHECK(office.code(request("records", "invoices@2022"), administrator) == ErrorCode::OK);
  CHECK(office.code(request("confirm", "invoices", 2, text("a")), administrator) == ErrorCode::OK);
  CHECK(office.code(request("close", "invoices@2022"), administrator) == ErrorCode::OK);
  CHECK(office.code(request("records", "invoices@2022"), kOther) == ErrorCode::DENIED);
}

TEST_CASE("WhatWasCancelledDoesNotShowWhoHasTheNumberNow", "[rpc][register]") {
  Office office;
  SequenceSettings& tickets = office.world.core.settings.by_name.at("tickets");
  tickets.refill.when = Refill::always;
  office.assign("a", "tickets");
  const std::string cancel =
      request("cancel", "tickets", 4, text("a") + text("withdrawn") + number_option(1));
  CHECK(map_of(office.by(1'000, cancel)).at("state") == "free");
  CHECK(map_of(office.by(kOther, request("assign", "tickets", 2, text("b")))).at("number") == "1");
  const auto again = map_of(office.by(1'000, cancel));
  CHECK((again.at("key") == "nil" && again.at("state") == "void"));
  CHECK(again.at("assigned.by") == "host:1000:1");
  CHECK(office.code(cancel, kOther) == ErrorCode::DENIED);
}

TEST_CASE("ANumberThatWasCancelledTooOftenIsVoid", "[rpc][register]") {
  Office office;
  office.world.core.settings.by_name.at("tickets").refill.when = Refill::always;
  for (int key = 0; key < 101; ++key) {
    CHECK(office.assign(std::to_string(key), "tickets").at("number") == "1");
    office.by(1'000, request("cancel", "tickets", 3, text(std::to_string(key)) + text("no")));
  }
  CHECK(office.world.numbers.records.begin()->second.state == NumberState::voided);
  CHECK(office.assign("more", "tickets").at("number") == "2");
}

TEST_CASE("AFreeNumberOfADayThatIsOverDoesNotHideThoseOfToday", "[rpc][register]") {
  Office office;
  RefillSettings& refill = office.world.core.settings.by_name.at("tickets").refill;
  refill.when = Refill::day;
  refill.day = PeriodRule::make("day", nullptr).value();
  const auto cancel = [&](const std::string& key) {
    office.by(1'000, request("cancel", "tickets", 3, text(key) + text("withdrawn")));
  };
  office.assign("a", "tickets");
  cancel("a");
  office.world.core.time.wall_set_ms += 2LL * 86'400'000;
  CHECK(office.assign("b", "tickets").at("number") == "2");
  cancel("b");
  CHECK(office.assign("c", "tickets").at("number") == "2");
  CHECK(office.assign("d", "tickets").at("number") == "3");
}

TEST_CASE("AConfirmBehindItsAssignFindsTheNumber", "[rpc][register]") {
  Office office;
  office.assign("first", "tickets");
  Line& line = office.world.connect(1'000);
  const std::vector<Reply> heard =
      office.world.call(line, request("assign", "tickets", 2, text("a")) +
                                  request("confirm", "tickets", 2, text("a")));
  REQUIRE(heard.size() == 2);
  CHECK((map_of(heard[0]).at("number") == "2" && map_of(heard[1]).at("state") == "confirmed"));
}

TEST_CASE("APageThatWaitsIsAnsweredWhenTheDaemonStops", "[rpc][register]") {
  Office office;
  office.assign("a", "tickets");
  office.world.kill();
  office.world.start();
  Line& line = office.world.connect(1'000);
  // The store is not proven yet.
  office.world.send(line, request("records", "tickets"));
  CHECK_FALSE(office.world.registers->settled());
  office.world.registers->begin_stop({ErrorCode::STOPPING, "stop"});
  office.world.settle();
  const std::vector<Reply> heard = line.replies();
  REQUIRE(heard.size() == 1);
  CHECK(heard[0].code == ErrorCode::STOPPING);
  CHECK(office.world.registers->settled());
}

TEST_CASE("RegistersAreAmongTheRowsOfAList", "[rpc][register]") {
  Office office;
  office.assign("a");
  office.assign("b", "tickets");
  Reply reply = office.by(0, request("list", 0, ""));
  protocol::ValueReader rows = reply.result();
  REQUIRE(rows.read_array() == 2);
  auto row = read_map(rows);
  CHECK((row.at("name") == "invoices@2023" && row.at("issued") == "1"));
  row = read_map(rows);
  CHECK((row.at("name") == "tickets" && row.at("state") == "ready"));
  CHECK(map_of(office.by(0, request("peek", "invoices@2023"))).at("last") == "1");
  CHECK(map_of(office.by(0, request("peek", "invoices"))).at("last") == "1");
}

}  // namespace
}  // namespace seqd
