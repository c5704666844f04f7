#include <map>
#include <string>
#include <vector>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::uint32_t kStranger = 1'001;

struct Option {
  std::string_view key;
  std::string value;  // as bytes
};

std::string flag(bool value) {
  return value ? "\xc3" : "\xc2";
}

std::string integer(std::int64_t value) {
  protocol::Buffer out;
  protocol::append_integer(out, value);
  return std::string(out.data(), out.size());
}

std::string decommission(const std::vector<Option>& options) {
  protocol::Buffer out;
  protocol::append_map(out, static_cast<std::uint32_t>(options.size()));
  std::string params(out.data(), out.size());
  for (const Option& option : options) {
    protocol::Buffer key;
    protocol::append_text(key, option.key);
    params += std::string(key.data(), key.size()) + option.value;
  }
  return request("decommission", 1, params);
}

struct Asked : Service {
  // By the user, with those options; what the daemon was asked for, if it was.
  const std::optional<DecommissionRequest>& by(std::uint32_t user, const std::string& bytes) {
    line = &world.connect(user);
    world.control.asked.reset();
    world.send(*line, bytes);
    world.turn();
    return world.control.asked;
  }
  // The error that the user gets; the daemon is not asked.
  ErrorCode refusal(std::uint32_t user, const std::string& bytes) {
    line = &world.connect(user);
    world.control.asked.reset();
    const ErrorCode refused = code(bytes);
    CHECK_FALSE(world.control.asked.has_value());
    return refused;
  }
};

TEST_CASE("WithoutAWordADecommissionOnlyLooks", "[rpc]") {
  Asked service;
  const std::string bytes = GENERATE(request("decommission", 0, ""), decommission({}),
                                     decommission({{"confirm", flag(false)}}));
  const auto& asked = service.by(0, bytes);
  REQUIRE(asked.has_value());
  CHECK(asked->only_look);
  CHECK_FALSE(asked->keep_history);
  CHECK(asked->timeout_ms == 10'000);
}

TEST_CASE("OnlyRootAndTheDaemonsOwnUserMayDecommission", "[rpc]") {
  Asked service;
  const std::string bytes = decommission(
      {{"confirm", flag(true)}, {"keep_history", flag(true)}, {"timeout_ms", integer(77)}});
  for (const std::uint32_t user : {std::uint32_t{0}, ScriptedControl::kUser}) {
    const auto& asked = service.by(user, bytes);
    REQUIRE(asked.has_value());
    CHECK_FALSE(asked->only_look);
    CHECK(asked->keep_history);
    CHECK(asked->timeout_ms == 77);
  }
  CHECK(service.refusal(kStranger, bytes) == ErrorCode::DENIED);
}

TEST_CASE("AWrongDecommissionIsAnErrorAndNothingIsDone", "[rpc]") {
  Asked service;
  for (const std::string& wrong :
       {decommission({{"confirm", integer(1)}}), decommission({{"yes", flag(true)}}),
        decommission({{"timeout_ms", integer(-1)}}),
        decommission({{"timeout_ms", integer(300'001)}}),
        decommission({{"timeout_ms", flag(true)}}), request("decommission", "orders"),
        request("decommission", 2, flag(true) + flag(true))}) {
    CHECK(service.refusal(0, wrong) == ErrorCode::BAD_REQUEST);
  }
}

TEST_CASE("TheAnswerOfADecommissionSaysWhatBecameOfEverything", "[rpc]") {
  Asked service;
  REQUIRE(service.by(0, decommission({{"confirm", flag(true)}})));
  DecommissionAnswer report;
  report.instance.end = DecommissionReport::End::refused;
  report.instance.why = {ErrorCode::UNAVAILABLE, "away"};
  DecommissionReport::OfSequence sequence;
  sequence.name = "orders";
  sequence.totals = {1, 100, 40, 50, 3, 0};
  sequence.available = 7;
  sequence.drained.gaps = {{1, 4}};
  report.instance.sequences = {sequence};
  report.instance.stores = {{"central", Token{9}, {true, 4}, false, report.instance.why}};
  report.removed = {"/var/lib/seqd/lock"};
  service.world.control.answer_decommission(report);
  service.world.turn();
  const std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 1);
  const auto said = map_of(replies[0]);
  CHECK(said.at("end") == "refused");
  CHECK(said.at("why") == "UNAVAILABLE: away");
  CHECK(said.at("sequences") == "array of 1");
  CHECK(said.at("stores") == "array of 1");
  CHECK(said.at("removed") == "array of 1");
  CHECK(said.at("left") == "array of 0");
}

TEST_CASE("ADecommissionThatIsRefusedIsAnsweredWithTheReason", "[rpc]") {
  Asked service;
  service.world.control.next_refusal = {ErrorCode::BUSY, "one is under way"};
  CHECK(service.code(request("decommission", 0, "")) == ErrorCode::BUSY);
}

}  // namespace
}  // namespace seqd
