#include <string>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::uint32_t kStranger = 1'001;
constexpr const char* kTrue = "\xc3";
constexpr const char* kFalse = "\xc2";

std::string text(std::string_view value) {
  protocol::Buffer out;
  protocol::append_text(out, value);
  return std::string(out.data(), out.size());
}

struct Housekeeper : Service {
  Housekeeper() {
    SequenceSettings& settings = world.core.settings.add("daily");
    settings.periods.period = "day";
    settings.periods.rule = PeriodRule::make("day", nullptr).value();
    settings.periods.retain_ms = 10LL * 86'400'000;
    settings.binding.key = "";
    for (const char* key : {"daily@2023-11-01", "daily@2023-11-02", "daily@2023-11-14"})
      world.purges.counters[key] = 40;
  }
  Reply by(std::uint32_t user, const std::string& bytes) {
    line = &world.connect(user);
    return ask(bytes);
  }
};

TEST_CASE("AnAdministratorMayLookWhichCountersAreOld", "[rpc]") {
  Housekeeper service;
  const auto said = map_of(service.by(0, request("purge", "daily", 2, kFalse)));
  CHECK(said.at("name") == "daily");
  CHECK(said.at("counters") == "array of 2");
  CHECK(said.at("more") == "false");
  CHECK(service.world.purges.counters.size() == 3);
}

TEST_CASE("OnlyRootAndTheDaemonsOwnUserMayRemoveCounters", "[rpc]") {
  const std::string bytes = request("purge", "daily", 2, kTrue);
  for (const std::uint32_t user : {std::uint32_t{0}, ScriptedControl::kUser}) {
    Housekeeper service;
    CHECK(map_of(service.by(user, bytes)).at("counters") == "array of 2");
    CHECK(service.world.purges.counters.size() == 1);
    CHECK(service.world.core.events.newest.text.find("user " + std::to_string(user)) !=
          std::string::npos);
  }
  Housekeeper service;
  const Reply reply = service.by(kStranger, bytes);
  CHECK(reply.code == ErrorCode::DENIED);
  CHECK(reply.text.find("user 500") != std::string::npos);
  CHECK(service.world.purges.queries.empty());
}

TEST_CASE("ReplyOfAPurgeHasEachCounterAndWhereTheNextPageBegins", "[rpc]") {
  Housekeeper service;
  service.world.purges.most_found = 1;
  const Reply reply = service.by(0, request("purge", "daily", 2, kTrue));
  const auto said = map_of(reply);
  CHECK(said.at("more") == "true");
  CHECK(said.at("after") == "daily@2023-11-01");
  protocol::ValueReader reader = reply.result();
  REQUIRE(reader.read_map() == 4);
  REQUIRE(reader.read_text() == "name");
  REQUIRE(reader.read_text() == "daily");
  REQUIRE(reader.read_text() == "counters");
  REQUIRE(reader.read_array() == 1);
  const auto counter = read_map(reader);
  CHECK(counter.at("period") == "2023-11-01");
  CHECK(counter.at("key") == "daily@2023-11-01");
  CHECK(counter.at("last") == "40");
  CHECK(counter.at("removed") == "true");
  const Reply next = service.ask(request("purge", "daily", 3, kTrue + text("daily@2023-11-01")));
  CHECK(map_of(next).at("counters") == "array of 1");
  CHECK(service.world.purges.queries.back().after == "daily@2023-11-01");
}

TEST_CASE("AWrongPurgeIsAnErrorAndNoCounterIsSearched", "[rpc]") {
  Housekeeper service;
  for (const std::string& wrong :
       {request("purge", 0, ""), request("purge", "daily"), request("purge", "daily", 2, "\x01"),
        request("purge", "daily", 3, std::string(kTrue) + kTrue), request("purge", "", 2, kTrue),
        request("purge", "daily", 4, kTrue + text("a") + text("b")),
        request("purge", 2, std::string("\xc0") + kTrue), request("purge", "da ily", 2, kTrue),
        request("purge", "daily@2023-11-01", 2, kTrue), request("purge", "orders", 2, kTrue)}) {
    CHECK(service.by(0, wrong).code == ErrorCode::BAD_REQUEST);
  }
  CHECK(service.code(request("purge", std::string(129, 'a'), 2, kTrue)) == ErrorCode::TOO_LARGE);
  CHECK(service.world.purges.queries.empty());
}

TEST_CASE("APurgeOfAStoreThatIsAwayIsAnsweredWithTheReason", "[rpc]") {
  Housekeeper service;
  service.world.purges.away = {ErrorCode::UNAVAILABLE, "the server is away"};
  const Reply reply = service.by(0, request("purge", "daily", 2, kTrue));
  CHECK(reply.code == ErrorCode::UNAVAILABLE);
  CHECK(reply.text.find("the server is away") != std::string::npos);
}

}  // namespace
}  // namespace seqd
