// Who may administer, and who may take IDs: by user, by group, and what a reload changes of it.
#include <map>
#include <string>
#include <vector>

#include "daemon/rpc/rights.h"
#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::uint32_t kStranger = 1'001;
constexpr std::uint32_t kGroup = 77;

// The methods that change something for others, and the one that shows paths, with what they take.
const std::map<std::string, std::string> kAdministering = {
    {"advance", request("advance", "orders")},
    {"advance_store", request("advance_store", "default")},
    {"drain", request("drain", "orders")},
    {"reload", plain_request(1, "reload")},
    {"purge", request("purge", "orders", 2, "\xc2")},
    {"config", plain_request(1, "config")},
    {"decommission", request("decommission", 0, "")}};

std::string take(const std::string& method) {
  if (method == "range") return range_request(1, "orders", 3);
  if (method == "next") return next_request(1, "orders", 60'000);
  return request(method, "orders");
}

struct Rights : Service {
  AccessSettings& access() { return world.core.settings.by_name.at("orders").access; }
  void reload() {
    world.core.table->apply_settings({});
    world.server->apply_settings({});
  }
  ErrorCode by(std::uint32_t uid, const std::string& bytes,
               std::vector<std::uint32_t> groups = {}) {
    return world.ask(world.connect(uid, std::move(groups)), bytes).code;
  }
};

TEST_CASE("AMemberOfTheGroupMayNotAdminister", "[rpc]") {
  for (const auto& [method, bytes] : kAdministering) {
    Rights service;
    INFO(method);
    const Reply reply = service.world.ask(service.world.connect(kStranger), bytes);
    CHECK(reply.code == ErrorCode::DENIED);
    CHECK(reply.text.starts_with(method + " is for administrators, and user 1001 is not one"));
    CHECK(reply.text.find("daemon.admins") != std::string::npos);
    CHECK(reply.text.find("user 500") != std::string::npos);
    CHECK_FALSE(service.world.control.asked.has_value());
  }
}

TEST_CASE("RootTheDaemonsUserAndThoseListedMayAdminister", "[rpc]") {
  for (const std::uint32_t uid : {std::uint32_t{0}, ScriptedControl::kUser, kStranger}) {
    Rights service;
    service.world.control.listed = {false, {kStranger}, {}};
    CHECK(service.by(uid, kAdministering.at("drain")) == ErrorCode::NO_SEQUENCE);
    CHECK(service.by(uid, kAdministering.at("reload")) == ErrorCode::OK);
  }
}

TEST_CASE("AGroupOfTheConnectionMayAdministerFromTheReloadOn", "[rpc]") {
  Rights service;
  Line& line = service.world.connect(kStranger, {5, kGroup});
  CHECK(service.world.ask(line, kAdministering.at("reload")).code == ErrorCode::DENIED);
  service.world.control.listed = {false, {}, {kGroup}};
  CHECK(service.world.ask(line, kAdministering.at("reload")).code == ErrorCode::OK);
  CHECK(service.by(kStranger, kAdministering.at("reload"), {5}) == ErrorCode::DENIED);
}

// What a sequence counts is nobody's business who may not take of it.
TEST_CASE("WhoMayNotTakeSeesNothingOfTheVolume", "[rpc]") {
  Rights service;
  REQUIRE(service.ask(next_request(1, "orders")).id() == 1);
  service.access().allow = {"alice", {false, {1'002}, {}}};
  service.reload();
  protocol::Buffer id;
  protocol::append_integer(id, 1);
  const std::string one(id.data(), id.size());
  for (const std::string& bytes :
       {request("peek", "orders"), request("gaps", "orders"), request("audit", "orders"),
        request("explain", "orders", 2, one)}) {
    CHECK(service.by(kStranger, bytes) == ErrorCode::DENIED);
    for (const std::uint32_t uid : {std::uint32_t{0}, std::uint32_t{1'000}, std::uint32_t{1'002}})
      CHECK(service.by(uid, bytes) != ErrorCode::DENIED);
  }
  const auto row = [&](std::uint32_t uid) {
    const Reply reply = service.world.ask(service.world.connect(uid), plain_request(1, "list"));
    protocol::ValueReader reader = reply.result();
    REQUIRE(reader.read_array() == 1);
    return read_map(reader);
  };
  for (const char* key : {"available", "next", "issued", "waiting", "out", "left", "runway_ms"}) {
    INFO(key);
    CHECK(row(kStranger).at(key) == "nil");
  }
  CHECK(row(kStranger).at("state") == "ready");
  CHECK(row(1'002).at("issued") == "1");
  // Without a table it is not known who may take.
  service.world.core.sequence("orders").set_stopped(
      {StopCause::unconfigured, {ErrorCode::NO_SEQUENCE, "not configured any more"}});
  CHECK(service.by(1'002, request("peek", "orders")) == ErrorCode::DENIED);
  CHECK(service.by(0, request("peek", "orders")) != ErrorCode::DENIED);
  CHECK(row(1'002).at("issued") == "nil");
  CHECK(row(0).at("issued") == "1");
  service.world.core.sequence("orders").set_stopped(
      {StopCause::regressed, {ErrorCode::SEQ_REGRESSED, "17 was leased"}});
  CHECK(row(kStranger).at("error") == "SEQ_REGRESSED");
  CHECK(row(0).at("error") == "SEQ_REGRESSED: 17 was leased");
}

// The journal has who changed something, and nothing of who only looked or was refused.
TEST_CASE("TheJournalHasWhoAdministered", "[rpc]") {
  Rights service;
  REQUIRE(service.ask(next_request(1, "orders")).id() == 1);
  const auto recorded = [&](const std::string& bytes, std::uint32_t uid = 1'000) {
    const std::int64_t before = service.world.core.events.count(EventKind::administered);
    service.world.call(service.world.connect(uid, {}, 4'711), bytes);
    if (service.world.core.events.count(EventKind::administered) == before) return std::string();
    return service.world.core.events.last.at(EventKind::administered).text;
  };
  const std::string who = ", requested by user 1000, process 4711";
  CHECK(recorded(request("advance", "orders")) == "advance of \"orders\"" + who);
  CHECK(recorded(request("drain", "orders")) == "drain of \"orders\"" + who);
  CHECK(recorded(request("advance_store", "default")) == "advance_store of \"default\"" + who);
  CHECK(recorded(plain_request(1, "reload")) == "reload" + who);
  protocol::Buffer confirm;
  protocol::append_map(confirm, 1);
  protocol::append_text(confirm, "confirm");
  protocol::append_bool(confirm, true);
  CHECK(recorded(request("decommission", 1, std::string(confirm.data(), confirm.size()))) ==
        "decommission" + who);
  CHECK(recorded(request("decommission", 0, "")).empty());
  CHECK(recorded(request("drain", "nosuch")).empty());
  // Refused, as a reload while another one is under way.
  service.world.control.next_refusal = {ErrorCode::BUSY, "another reload is under way"};
  CHECK(recorded(plain_request(1, "reload")).empty());
  CHECK(recorded(plain_request(1, "config")).empty());
  CHECK(recorded(request("drain", "orders"), kStranger).empty());
}

struct RightsAnswer {
  std::map<std::string, std::string> caller;
  std::vector<std::map<std::string, std::string>> sequences;
};

RightsAnswer rights_in(const Reply& reply) {
  REQUIRE(reply.code == ErrorCode::OK);
  protocol::ValueReader reader = reply.result();
  REQUIRE(reader.read_map() == 4U);
  RightsAnswer rights;
  REQUIRE(reader.read_text() == "uid");
  rights.caller["uid"] = std::to_string(reader.read_integer().value());
  REQUIRE(reader.read_text() == "administer");
  rights.caller["administer"] = reader.read_bool().value() ? "yes" : "no";
  REQUIRE(reader.read_text() == "why");
  rights.caller["why"] = reader.read_text().value();
  REQUIRE(reader.read_text() == "sequences");
  for (std::uint32_t left = reader.read_array().value(); left > 0; --left) {
    REQUIRE(reader.read_map() == 3U);
    std::map<std::string, std::string> row;
    REQUIRE(reader.read_text() == "name");
    row["name"] = reader.read_text().value();
    REQUIRE(reader.read_text() == "take");
    row["take"] = reader.read_bool().value() ? "yes" : "no";
    REQUIRE(reader.read_text() == "why");
    row["why"] = reader.read_text().value();
    rights.sequences.push_back(row);
  }
  return rights;
}

TEST_CASE("RightsTellsWhatACallerMayAndWhy", "[rpc]") {
  Rights service;
  const auto asked = [&](std::uint32_t uid, std::vector<std::uint32_t> groups = {}) {
    return rights_in(
        service.world.ask(service.world.connect(uid, std::move(groups)), take("rights")));
  };
  CHECK(asked(kStranger).caller.at("uid") == "1001");
  CHECK(asked(kStranger).caller.at("administer") == "no");
  CHECK(asked(kStranger).caller.at("why").find("daemon.admins") != std::string::npos);
  CHECK(asked(0).caller.at("administer") == "yes");
  CHECK(asked(0).caller.at("why") == "the user is root");
  CHECK(asked(ScriptedControl::kUser).caller.at("administer") == "yes");
  CHECK(asked(ScriptedControl::kUser).caller.at("why") == "the daemon runs as this user");
  CHECK(asked(1'000).caller.at("administer") == "yes");
  CHECK(asked(1'000).caller.at("why").starts_with("the option daemon.admins lists"));
  const auto row = [&](std::uint32_t uid, std::vector<std::uint32_t> groups = {}) {
    return asked(uid, std::move(groups)).sequences.at(0);
  };
  CHECK(row(kStranger) ==
        std::map<std::string, std::string>{
            {"name", "orders"}, {"take", "yes"}, {"why", "everyone who can connect may"}});
  service.access().allow.compiled = {false, {}, {kGroup}};
  CHECK(row(kStranger).at("take") == "no");
  CHECK(row(kStranger).at("why").find("\"allow\" of the sequence") != std::string::npos);
  CHECK(row(kStranger, {kGroup}).at("take") == "yes");
  CHECK(row(kStranger, {kGroup}).at("why").starts_with("the option \"allow\" of the sequence"));
  CHECK(row(0).at("take") == "yes");
  CHECK(row(0).at("why") == "the user is root");
  service.access().deny.compiled.users = {0};
  CHECK(row(0).at("take") == "no");
  CHECK(row(0).at("why").find("\"deny\" of the sequence") != std::string::npos);
}

TEST_CASE("RightsSaysOfANameThatIsNoSequenceThatThereIsNone", "[rpc]") {
  Rights service;
  service.world.core.settings.by_name.clear();
  const RightsAnswer answer =
      rights_in(service.world.ask(service.world.connect(0), request("rights", "typo")));
  CHECK(answer.sequences.at(0).at("take") == "no");
  CHECK(answer.sequences.at(0).at("why") == "there is no such sequence");
  CHECK(rights_in(service.world.ask(service.world.connect(0), plain_request(1, "rights")))
            .sequences.empty());
  CHECK(service.by(0, request("rights", "not a name")) == ErrorCode::BAD_REQUEST);
  CHECK(service.by(0, request("rights", 1, "\x07")) == ErrorCode::BAD_REQUEST);
}

TEST_CASE("OnlyAllowedUsersTakeTheIdsOfASequence", "[rpc]") {
  for (const char* const method : {"next", "range"}) {
    Rights service;
    INFO(method);
    service.access().allow.compiled = {false, {1'000}, {kGroup}};
    CHECK(service.by(1'000, take(method)) == ErrorCode::OK);
    CHECK(service.by(kStranger, take(method), {kGroup}) == ErrorCode::OK);
    CHECK(service.by(0, take(method)) == ErrorCode::OK);
    CHECK(service.by(ScriptedControl::kUser, take(method)) == ErrorCode::OK);
    const std::int64_t issued =
        service.world.core.table->sequences().all().front()->totals().issued;
    const Reply reply = service.world.ask(service.world.connect(kStranger, {5}), take(method));
    CHECK(reply.code == ErrorCode::DENIED);
    CHECK(reply.text.find("user 1001 may not take IDs of \"orders\"") == 0);
    CHECK(reply.text.find("\"allow\"") != std::string::npos);
    CHECK(service.world.core.table->sequences().all().front()->totals().issued == issued);
  }
}

TEST_CASE("DenyComesBeforeAllowAndBindsRootToo", "[rpc]") {
  Rights service;
  service.access().allow.compiled = {false, {kStranger, 0}, {}};
  service.access().deny.compiled = {false, {0}, {kGroup}};
  CHECK(service.by(kStranger, take("next_text"), {kGroup}) == ErrorCode::DENIED);
  CHECK(service.by(kStranger, take("next"), {kGroup}) == ErrorCode::DENIED);
  CHECK(service.by(0, take("next")) == ErrorCode::DENIED);
  CHECK(service.by(kStranger, take("next")) == ErrorCode::OK);
}

TEST_CASE("AUserWhoIsDeniedMakesNoSequence", "[rpc]") {
  Rights service;
  service.access().deny.compiled.everyone = true;
  for (const char* const method : {"next", "range", "next_text"})
    CHECK(service.by(kStranger, take(method)) == ErrorCode::DENIED);
  CHECK(service.by(kStranger, request("insert", "orders", 2, "\x80")) == ErrorCode::DENIED);
  CHECK(service.world.core.table->sequences().all().empty());
  CHECK(service.by(kStranger, peek_request(1, "orders")) == ErrorCode::DENIED);
}

TEST_CASE("AReloadChangesWhoMayTakeOnConnectionsThatAreOpen", "[rpc]") {
  Rights service;
  Line& line = service.world.connect(kStranger);
  // The connection remembers the sequence once it has found it.
  for (int times = 0; times < 3; ++times)
    CHECK(service.world.ask(line, take("next")).code == ErrorCode::OK);
  service.access().deny.compiled.users = {kStranger};
  service.reload();
  CHECK(service.world.ask(line, take("next")).code == ErrorCode::DENIED);
  CHECK(service.world.ask(line, take("range")).code == ErrorCode::DENIED);
  service.access().deny.compiled.users = {};
  service.reload();
  CHECK(service.world.ask(line, take("next")).code == ErrorCode::OK);
}

// A request may wait for an hour, and was served in spite of "deny".
TEST_CASE("AReloadRefusesRequestsThatWaitAndAreNotAllowedAnyMore", "[rpc]") {
  Rights service;
  Line& denied = service.world.connect(kStranger);
  Line& allowed = service.world.connect(1'000);
  service.world.send(denied, next_request(1, "orders", 60'000) + next_request(2, "orders", 60'000));
  service.world.send(allowed, next_request(1, "orders", 60'000));
  service.world.turn();
  service.reload();
  CHECK(denied.session->waiting == 2);
  service.access().deny.compiled.users = {kStranger};
  service.reload();
  CHECK(denied.session->waiting == 0);
  service.world.settle();
  const auto replies = denied.replies();
  REQUIRE(replies.size() == 2);
  for (const Reply& reply : replies) CHECK(reply.code == ErrorCode::DENIED);
  CHECK(allowed.replies().front().id() == 1);
  CHECK(service.world.core.table->budgets().waiting() == 0);
}

TEST_CASE("ARepeatIsAnsweredThoughTheRightIsGone", "[rpc]") {
  Rights service;
  Line& line = service.world.connect(kStranger);
  REQUIRE(service.world.ask(line, hello_request(0, 7)).code == ErrorCode::OK);
  const Reply first = service.world.ask(line, next_request(1, "orders", 60'000));
  REQUIRE(first.code == ErrorCode::OK);
  service.access().deny.compiled.users = {kStranger};
  service.reload();
  Line& again = service.world.connect(kStranger);
  REQUIRE(service.world.ask(again, hello_request(0, 7)).code == ErrorCode::OK);
  const Reply repeat = service.world.ask(again, next_request(1, "orders", 60'000));
  REQUIRE(repeat.code == ErrorCode::OK);
  CHECK(repeat.id() == first.id());
  CHECK(service.world.ask(again, next_request(2, "orders")).code == ErrorCode::DENIED);
}

}  // namespace
}  // namespace seqd
