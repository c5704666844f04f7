// IDs that were issued under other settings than those of today: a repeat is answered with what was
// issued, or with an error, and every method shows them as they were issued.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/text/id_format.h"
#include "protocol/values/value_writer.h"
#include "tests/unit/one_summer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Runs = std::vector<Run>;
using Form = IdProgression::Form;
using Change = std::function<void(ConfiguredSequences&)>;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr const char* kName = "ids";

Change progression(const Form& form) {
  return [form](ConfiguredSequences& configured) {
    configured.add(kName).mode = SequenceMode::lease;
    ProgressionSettings& settings = configured.by_name[kName].progression;
    settings.start = form.start;
    settings.increment = form.increment;
    settings.min = form.min;
    settings.max = form.max;
    settings.cycle = form.cycle;
    settings.compiled = std::make_shared<IdProgression>(form);
  };
}

struct Former : Service {
  explicit Former(const Change& settings) {
    settings(world.core.settings);
    hello();
  }
  void hello() {
    line = &world.connect();
    REQUIRE(world.ask(*line, hello_request(0, 7)).code == ErrorCode::OK);
  }
  void restart(const Change& change) {
    world.kill();
    change(world.core.settings);
    world.start();
    world.settle();
    hello();
  }
  void reload(const Change& change) {
    change(world.core.settings);
    static_cast<void>(world.core.table->apply_settings(world.core.limits));
    world.settle();
  }
  Reply next_text(std::uint32_t number, const std::string& name = kName) {
    std::string bytes = request("next_text", name);
    bytes[2] = static_cast<char>(number);
    return ask(bytes);
  }
  Reply about(std::string_view method, std::int64_t value, const std::string& name = kName) {
    protocol::Buffer params;
    protocol::append_integer(params, value);
    return ask(request(method, name, 2, {params.data(), params.size()}));
  }
};

// Requests 1 to 40 are one ID each, 41 is a range.
void check_repeats(Former& service, const std::vector<std::int64_t>& ids, const Runs& runs) {
  for (std::uint32_t number = 1; number <= ids.size(); ++number) {
    INFO("request " << number);
    const Reply reply = service.ask(next_request(number, kName));
    REQUIRE(reply.code == ErrorCode::OK);
    REQUIRE(reply.id() == ids[number - 1]);
  }
  const Reply reply = service.ask(range_request(41, kName, 40));
  REQUIRE(reply.code == ErrorCode::OK);
  REQUIRE(reply.runs() == runs);
}

TEST_CASE("RepeatAfterAChangeOfTheProgressionHasTheIdThatWasIssued", "[former_settings]") {
  const Form straight{1, 2, 1, 99'999, false};
  const Form round{3, 2, 1, 50, true};
  const Change removed = [](ConfiguredSequences& configured) { configured.by_name.erase(kName); };
  const Change inserts = [](ConfiguredSequences& configured) {
    configured.by_name[kName].mode = SequenceMode::insert;
  };
  const Change plain = [](ConfiguredSequences& configured) {
    configured.by_name[kName].progression = {};
  };
  const std::vector<std::pair<Form, std::vector<std::pair<std::string, Change>>>> all = {
      {straight,
       {{"max", progression({1, 2, 1, 49, false})},
        {"start", progression({5, 2, 1, 99'999, false})},
        {"increment", progression({1, 3, 1, 99'999, false})},
        {"another side", progression({-1, -2, -999, -1, false})},
        {"cycle", progression({1, 2, 1, 49, true})},
        {"no progression", plain},
        {"not configured", removed},
        {"inserts", inserts}}},
      {round,
       {{"max", progression({3, 2, 1, 20, true})},
        {"min", progression({3, 2, 3, 50, true})},
        {"cycle", progression({3, 2, 1, 50, false})},
        {"no progression", plain},
        {"not configured", removed}}}};
  for (const auto& [form, changes] : all) {
    for (const auto& [what, change] : changes) {
      INFO(what << (form.cycle ? " of a cycle" : ""));
      Former service(progression(form));
      std::vector<std::int64_t> ids;
      for (std::uint32_t number = 1; number <= 40; ++number)
        ids.push_back(service.ask(next_request(number, kName)).id());
      const Runs runs = service.ask(range_request(41, kName, 40)).runs();
      const IdProgression issued(form);
      REQUIRE(ids.back() == issued.value(40));
      check_repeats(service, ids, runs);
      service.restart(change);
      check_repeats(service, ids, runs);
      // And back.
      service.restart(progression(form));
      check_repeats(service, ids, runs);
      const std::int64_t following = service.ask(next_request(42, kName)).id();
      CHECK(following >= issued.value(81));
      // What a lowered bound has made a gap is not issued any more.
      CHECK((following == issued.value(81) || what == "max"));
    }
  }
}

TEST_CASE("RepeatOfAnEndedPeriodHasTheProgressionOfThatPeriod", "[former_settings]") {
  const auto daily = [](const Form& form) {
    return [form](ConfiguredSequences& configured) {
      progression(form)(configured);
      configured.by_name[kName].periods.period = "day";
      configured.by_name[kName].periods.rule = PeriodRule::make("day", nullptr).value();
    };
  };
  Former service(daily({1, 2, 1, 999, false}));
  CHECK(service.ask(next_request(1, kName)).id() == 1);
  CHECK(service.ask(range_request(2, kName, 3)).runs() == Runs{{3, 3, 2}});
  service.world.core.time.advance(2 * kHourMs);
  service.restart(daily({100, 5, 100, 999, false}));
  CHECK(service.ask(next_request(3, kName)).id() == 100);
  CHECK(service.ask(next_request(1, kName)).id() == 1);
  CHECK(service.ask(range_request(2, kName, 3)).runs() == Runs{{3, 3, 2}});
  CHECK(service.ask(next_request(3, kName)).id() == 100);
  // By the name of the former period its IDs are found, and those of today are none of it.
  const auto answer = map_of(service.about("explain", 7, "ids@2023-11-14"));
  CHECK(answer.at("id") == "7");
  CHECK(service.world.history.asked_id.second == 4);
  CHECK(service.about("explain", 100, "ids@2023-11-14").code == ErrorCode::BAD_REQUEST);
}

TEST_CASE("WhatWasIssuedAboveALoweredMaximumIsShownAsItWasIssued", "[former_settings]") {
  Former service(progression({1, 2, 1, 99, false}));
  CHECK(service.ask(range_request(1, kName, 40)).runs() == Runs{{1, 40, 2}});
  service.restart(progression({1, 2, 1, 49, false}));
  CHECK(map_of(service.about("explain", 79)).at("id") == "79");
  CHECK(service.world.history.asked_id.second == 40);
  GapsAnswer answer;
  answer.known = true;
  GapRow row;
  row.gap.begin = 41;
  row.gap.end = 51;
  row.gap.place_known = true;
  answer.rows.push_back(row);
  service.world.history.gaps = answer;
  const Reply gaps = service.ask(request("gaps", kName));
  protocol::ValueReader reader = gaps.result();
  REQUIRE(reader.read_map() == 5U);
  REQUIRE((reader.skip() && reader.skip() && reader.skip()));
  REQUIRE(reader.read_array() == 1U);
  const auto gap = read_map(reader);
  CHECK(gap.at("first") == "81");
  CHECK(gap.at("last") == "99");
  // What was never issued is no ID any more.
  CHECK(service.about("explain", 101).code == ErrorCode::BAD_REQUEST);
}

TEST_CASE("AvailableIdsOfAStoppedSequenceAreNotJudgedByTheNewProgression", "[former_settings]") {
  const Form former{1, 2, 1, 999, false};
  const auto forms = {Form{1, 100, 1, 201, false}, Form{999, -400, 1, 999, false}};
  for (const Form& now : forms) {
    Former service(progression(former));
    CHECK(service.ask(next_request(1, kName)).id() == 1);
    service.restart(progression(now));
    CHECK(service.ask(next_request(2, kName)).code == ErrorCode::SEQ_CHANGED);
    CHECK(service.world.core.events.count(EventKind::gap_out_of_bounds) == 0);
    const auto answer = map_of(service.about("explain", 3));
    CHECK(answer.at("answer") == "available");
    service.restart(progression(former));
    CHECK(service.ask(next_request(3, kName)).id() == 3);
  }
}

TEST_CASE("RemainderOfASequenceThatIsNotConfiguredKeepsWhatIsAboveTheDefaultMaximum",
          "[former_settings]") {
  const Change above = [](ConfiguredSequences& configured) {
    configured.add(kName).max_value = kLastOrdinal;
    configured.by_name[kName].binding.first_id = std::int64_t{1} << 60;
  };
  Former service(above);
  service.world.core.store.next_id[kName] = std::int64_t{1} << 60;
  CHECK(service.ask(next_request(1, kName)).id() == std::int64_t{1} << 60);
  service.restart([](ConfiguredSequences& configured) { configured.by_name.erase(kName); });
  CHECK(service.world.core.events.count(EventKind::gap_out_of_bounds) == 0);
  service.restart(above);
  CHECK(service.ask(next_request(2, kName)).id() == (std::int64_t{1} << 60) + 1);
}

// --- texts

struct Spelling {
  std::string format;
  std::shared_ptr<const BlockCipher> key = nullptr;
  std::string zone = "UTC";
  std::string period = {};
};

// No cipher, but another permutation for each key.
class ToyCipher final : public BlockCipher {
 public:
  explicit ToyCipher(std::uint8_t key) : key_(key) {}
  void encrypt(CipherBlock& block) const override {
    std::uint32_t state = key_;
    for (int round = 0; round < 4; ++round) {
      for (std::uint8_t& byte : block) {
        state = (state ^ byte) * 0x01000193U + 0x9e3779b9U;
        byte = static_cast<std::uint8_t>(state >> 24);
      }
    }
  }

 private:
  const std::uint8_t key_;
};

Change spelled(const Spelling& as) {
  return [as](ConfiguredSequences& configured) {
    SequenceSettings& settings = configured.add(kName);
    settings.text.format = as.format;
    settings.text.time_zone = as.zone;
    const std::shared_ptr<const TimeZone> zone =
        as.zone == "UTC" ? nullptr : std::make_shared<OneSummer>();
    auto made = std::make_shared<IdFormat>(read_template(as.format).value(), zone, as.key);
    settings.periods = {};
    if (!as.period.empty()) {
      settings.periods.period = as.period;
      settings.periods.rule = PeriodRule::make(as.period, zone).value();
      made->set_periods(settings.periods.rule);
    }
    settings.text.compiled = std::move(made);
  };
}

TEST_CASE("RepeatOfATextIsTheTextThatWasIssuedOrNone", "[former_settings]") {
  const std::vector<std::pair<Spelling, std::vector<Spelling>>> all = {
      {{"A-{number:6}", {}},
       {{"B-{number:6}", {}}, {"A-{number:8}", {}}, {"{number:6,base16}", {}}}},
      {{"{date:%H%M}-{number}", {}},
       {{"{date:%H%M}-{number}", {}, "Somewhere"}, {"{date:%H}-{number}", {}}}},
      {{"{date:%y%m%d}-{number}", {}, "UTC", "day"},
       {{"{date:%y%m%d}-{number:4}", {}, "UTC", "day"}, {"X{number}", {}}}},
      {{"{number:6,scramble}", std::make_shared<ToyCipher>(std::uint8_t{1})},
       {{"{number:6,scramble}", std::make_shared<ToyCipher>(std::uint8_t{2})}}}};
  for (const auto& [first, changes] : all) {
    for (const Spelling& now : changes) {
      for (const bool restarts : {false, true}) {
        // Another period, in place of the format, takes effect at a restart only.
        if (!restarts && now.period != first.period) continue;
        INFO(first.format << " -> " << now.format << ", " << now.zone << ", " << restarts);
        Former service(spelled(first));
        const Reply issued = service.next_text(1);
        REQUIRE(issued.code == ErrorCode::OK);
        const auto change = [&](const Spelling& to) {
          restarts ? service.restart(spelled(to)) : service.reload(spelled(to));
        };
        change(now);
        const Reply repeat = service.next_text(1);
        CHECK(repeat.code == ErrorCode::SEQ_CHANGED);
        CHECK(repeat.text.find("\"" + first.format + "\"") != std::string::npos);
        change(first);
        CHECK(service.next_text(1).frame == issued.frame);
      }
    }
  }
}

TEST_CASE("TextsOfSeveralFormsAreEachRepeatedInTheirOwnOnly", "[former_settings]") {
  Former service(spelled({"A-{number:6}", {}}));
  const Reply a = service.next_text(1);
  service.reload(spelled({"B-{number:6}", {}}));
  const Reply b = service.next_text(2);
  REQUIRE(a.result().read_text() == "A-000001");
  REQUIRE(b.result().read_text() == "B-000002");
  for (int times = 0; times < 2; ++times) {
    CHECK(service.next_text(1).code == ErrorCode::SEQ_CHANGED);
    CHECK(service.next_text(2).frame == b.frame);
    service.restart(spelled({"A-{number:6}", {}}));
    CHECK(service.next_text(1).frame == a.frame);
    CHECK(service.next_text(2).code == ErrorCode::SEQ_CHANGED);
    service.restart(spelled({"B-{number:6}", {}}));
  }
  CHECK(service.next_text(3).result().read_text() == "B-000003");
}

// The time of the text is shown in no zone, so the zone does not matter to it.
TEST_CASE("ZoneOfATextWithoutADateIsNoOtherForm", "[former_settings]") {
  Former service(spelled({"A-{number:6}", {}}));
  const Reply issued = service.next_text(1);
  service.reload(spelled({"A-{number:6}", {}, "Somewhere"}));
  CHECK(service.next_text(1).frame == issued.frame);
  CHECK(service.world.core.log.image.names.at(kName).forms.size() == 1);
}

TEST_CASE("TextThatMayBeOneOfAFormerFormIsNotExplainedAsAnotherId", "[former_settings]") {
  Former service(spelled({"{number:6}", {}}));
  REQUIRE(service.next_text(1).result().read_text() == "000001");
  service.reload(spelled({"{number:6,base16}", {}}));
  protocol::Buffer params;
  protocol::append_text(params, "000010");
  const Reply answer = service.ask(request("explain", kName, 2, {params.data(), params.size()}));
  CHECK(answer.code == ErrorCode::SEQ_CHANGED);
  CHECK(answer.text.find("\"{number:6}\"") != std::string::npos);
}

}  // namespace
}  // namespace seqd
