#include <string>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string advance_store(std::string_view store) {
  return request("advance_store", store);
}

std::string resume(std::string_view store) {
  return request("advance_store", store, 2, "\xc3");
}

// A service whose store was put back from an older copy.
struct PutBack : Service {
  explicit PutBack(int more = 0) {
    for (int i = 0; i < more; ++i) {
      const std::string name = "s" + std::to_string(i);
      core().settings.add(name);
      CHECK(ask(request("next", name)).id() == 1);
    }
    CHECK(ask(request("next", "orders")).id() == 1);
    core().settle();
    core().table->scopes().beat();
    core().settle();
    core().store.next_id["orders"] = 1;
    core().store.heartbeats.clear();
    core().table->scopes().beat();
    core().settle();
    CHECK(code(request("next", "orders")) == ErrorCode::SEQ_REGRESSED);
  }
  CoreWorld& core() { return world.core; }
};

TEST_CASE("AdvanceStoreRaisesEveryCounterAndResumesTheSequences", "[rpc]") {
  PutBack service;
  const std::int64_t high_water = service.core().sequence("orders").definition().high_water();
  CHECK(service.code(advance_store("default")) == ErrorCode::OK);
  CHECK(service.core().store.next_id.at("orders") == high_water);
  CHECK(service.core().store.floors.at("orders") == high_water);
  CHECK(service.code(request("next", "orders")) == ErrorCode::SEQ_REGRESSED);
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  service.core().settle();
  CHECK(service.ask(request("next", "orders")).id() == high_water);
  // Nothing is stopped any more: it may be repeated.
  CHECK(service.code(resume("default")) == ErrorCode::OK);
}

// Another host may have leased above it since, and a floor there would withdraw its IDs.
TEST_CASE("AdvanceStoreThatResumesDoesNotRaiseAgainWhatIsRaised", "[rpc]") {
  PutBack service;
  CHECK(service.code(advance_store("default")) == ErrorCode::OK);
  const std::int64_t floor = service.core().store.floors.at("orders");
  service.core().store.next_id["orders"] += 100;
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  CHECK_FALSE(service.core().table->scopes().find("default")->restored());
  CHECK(service.core().store.floors.at("orders") == floor);
}

// Its counters are those of a time before the raise, on this host and perhaps on others.
TEST_CASE("AdvanceStoreDoesNotResumeWhereAnotherCopyWasPutInPlaceAfterTheRaise", "[rpc]") {
  PutBack service;
  CHECK(service.code(advance_store("default")) == ErrorCode::OK);
  const std::int64_t high_water = service.core().store.next_id.at("orders");
  service.core().store.next_id["orders"] = 1;
  service.core().store.floors.clear();
  CHECK(service.code(resume("default")) == ErrorCode::SEQ_REGRESSED);
  CHECK(service.core().table->scopes().find("default")->restored());
  // Until it is raised again, however often it is asked for.
  CHECK(service.code(resume("default")) == ErrorCode::SEQ_REGRESSED);
  CHECK(service.code(advance_store("default")) == ErrorCode::OK);
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  service.core().settle();
  CHECK(service.core().store.floors.at("orders") == high_water);
  CHECK(service.ask(request("next", "orders")).id() == high_water);
}

// It has the counters of the raise or higher ones: other hosts leased from it, and raised it less.
TEST_CASE("AdvanceStoreDoesNotResumeOnAYoungerCopyThatWasPutInPlaceAfterTheRaise", "[rpc]") {
  PutBack service;
  CHECK(service.code(advance_store("default")) == ErrorCode::OK);
  service.core().store.next_id["orders"] += 20;
  service.core().store.floors.clear();
  CHECK(service.code(resume("default")) == ErrorCode::SEQ_REGRESSED);
  CHECK(service.core().table->scopes().find("default")->restored());
}

// It moves the counter only: what is parked in the older copy may have been issued since.
TEST_CASE("AdvanceStoreRaisesForEveryHostWhatWasAdvancedForOne", "[rpc]") {
  PutBack service;
  SequenceSettings settings = service.core().sequence("orders").settings();
  settings.reuse = Reuse::parked;
  service.core().sequence("orders").apply_settings(
      std::make_shared<const SequenceSettings>(settings), "orders");
  service.core().store.parked["orders"] = {{1, 2}};
  CHECK(service.code(request("advance", "orders")) == ErrorCode::OK);
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  service.core().settle();
  CHECK(service.ask(request("next", "orders")).id() >= service.core().store.floors.at("orders"));
  CHECK(service.core().store.floors.at("orders") > 1);
}

TEST_CASE("AdvanceStoreDoesNotResumeWithoutTheCountersThatWereRaised", "[rpc]") {
  PutBack service;
  CHECK(service.code(advance_store("default")) == ErrorCode::OK);
  service.core().store.readings = {{ScriptedStore::ReadScript::Kind::failed}};
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  CHECK(service.core().table->scopes().find("default")->restored());
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  CHECK_FALSE(service.core().table->scopes().find("default")->restored());
}

// More sequences than begin again in one turn: until all of them may, none does.
TEST_CASE("AdvanceStoreThatResumesInPartsComparesAllAgain", "[rpc][large]") {
  PutBack service(1'001);
  CHECK(service.code(advance_store("default")) == ErrorCode::OK);
  CHECK(service.code(resume("default")) == ErrorCode::UNAVAILABLE);
  CHECK(service.code(request("next", "orders")) == ErrorCode::SEQ_REGRESSED);
  service.core().store.floors.clear();
  CHECK(service.code(resume("default")) == ErrorCode::SEQ_REGRESSED);
  CHECK(service.core().table->scopes().find("default")->restored());
}

TEST_CASE("AdvanceStoreRaisesNothingOnResumeBeforeTheStoreIsCompared", "[rpc]") {
  RpcWorld world;
  for (int i = 0; i < 9; ++i)
    world.core.store.beats.push_back({ScriptedStore::BeatScript::Kind::failed});
  world.start();
  REQUIRE(world.core.table->open("orders").ok());
  world.settle();
  CHECK(world.ask(world.connect(), resume("default")).code == ErrorCode::UNAVAILABLE);
  CHECK(world.core.store.advance_calls.empty());
}

// The restart that follows its drain was forgotten, or IDs are left: nothing was raised for it.
TEST_CASE("AdvanceStoreFailsForWhatIsStillToMoveThere", "[rpc]") {
  RpcWorld world;
  ScriptedStore central;
  central.identity = Token{9};
  world.core.stores["central"] = &central;
  world.start();
  world.core.settings.add("orders");
  REQUIRE(world.core.next("orders") == std::nullopt);
  world.settle();
  world.core.kill();
  world.core.settings.by_name["orders"].store = "central";
  world.start();
  world.settle();
  while (central.deliver()) world.settle();
  const auto answer = world.ask(world.connect(), advance_store("central"));
  REQUIRE(answer.code == ErrorCode::OK);
  CHECK(answer.frame.find("orders") != std::string::npos);
  CHECK(central.advance_calls.empty());
  world.core.kill();
}

TEST_CASE("AdvanceStoreThatFailsResumesNothing", "[rpc]") {
  PutBack service;
  service.core().store.advances = {{ScriptedStore::AdvanceScript::Kind::failed}};
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  CHECK(service.core().table->scopes().find("default")->restored());
}

// Another host may have leased from its counter, and would issue again what this one leased.
TEST_CASE("AdvanceStoreResumesNothingWhereACounterIsNotConfigured", "[rpc]") {
  PutBack service(1);
  CoreWorld& core = service.core();
  core.sequence("s0").set_stopped(
      {StopCause::unconfigured, {ErrorCode::NO_SEQUENCE, "\"s0\" is not configured any more"}});
  const Reply reply = service.ask(resume("default"));
  auto said = map_of(reply);
  CHECK(said["failed"] == "1");
  CHECK(said["error"].find("\"s0\": NO_SEQUENCE") == 0);
  CHECK(core.table->scopes().find("default")->restored());
}

// Over many sequences it takes long enough for a period to be forgotten meanwhile.
TEST_CASE("AdvanceStoreNamesASequenceThatWasForgottenMeanwhile", "[rpc]") {
  Service service;
  CoreWorld& core = service.world.core;
  SequenceSettings& settings = core.settings.add("daily");
  settings.periods.period = "day";
  settings.periods.rule = PeriodRule::make("day", nullptr).value();
  CHECK(service.ask(request("next", "daily")).id() == 1);
  core.time.advance(2 * 3'600'000);
  CHECK(service.ask(request("next", "daily")).id() == 1);
  core.time.advance(60'000);
  core.settle();
  REQUIRE(core.table->sequences().size() == 2);
  service.world.send(*service.line, advance_store("default"));
  service.world.turn();
  REQUIRE(core.store.pending() == 2);
  const bool first = core.store.advance_calls.front().binding.key == "daily@2023-11-14";
  core.store.readings.resize(first ? 0 : 1);
  core.store.readings.push_back({ScriptedStore::ReadScript::Kind::failed});
  REQUIRE((core.store.deliver() && core.store.deliver()));
  REQUIRE(core.store.read_calls.size() == 2);
  core.time.advance(std::int64_t{33} * 86'400'000);
  service.world.turn();
  core.time.advance(60'000);
  REQUIRE(core.table->sequences().size() == 1);
  service.world.settle();
  const std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 1);
  auto said = map_of(replies.front());
  CHECK(said["failed"] == "1");
  CHECK(said["error"].find("\"daily@2023-11-14\": ") == 0);
}

// The places are those of a drain of all sequences, and one of them is kept for root.
TEST_CASE("AdvanceStoreOfSeveralAdministratorsLeavesAPlaceForRoot", "[rpc]") {
  PutBack service;
  service.world.control.listed = UserList{true, {}, {}};
  std::vector<Line*> lines;
  for (const UserId user : {1U, 2U, 3U, 4U, 0U}) {
    lines.push_back(&service.world.connect(user));
    service.world.send(*lines.back(), advance_store("default"));
  }
  service.world.turn();
  const std::vector<Reply> refused = lines[3]->replies();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].code == ErrorCode::BUSY);
  for (const std::size_t at : {0U, 1U, 2U, 4U}) CHECK(lines[at]->replies().empty());
  service.world.settle();
  for (const std::size_t at : {0U, 1U, 2U, 4U}) {
    const std::vector<Reply> replies = lines[at]->replies();
    REQUIRE(replies.size() == 1);
    CHECK(replies[0].code == ErrorCode::OK);
  }
}

TEST_CASE("AdvanceStoreOfNoStoreIsABadRequest", "[rpc]") {
  Service service;
  CHECK(service.code(advance_store("nowhere")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("advance_store", "default", 2, "\x05")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("advance_store", 0, "")) == ErrorCode::BAD_REQUEST);
}

}  // namespace
}  // namespace seqd
