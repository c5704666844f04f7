#include "daemon/core/table/shared_settings.h"

#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// Each makes settings that are unlike the defaults in one option, or in what was made of it.
std::vector<std::function<void(SequenceSettings&)>> differences() {
  return {
      [](SequenceSettings& s) { s.mode = SequenceMode::insert; },
      [](SequenceSettings& s) { s.named = false; },
      [](SequenceSettings& s) { s.store = "other"; },
      [](SequenceSettings& s) { s.binding.collection = "numbers"; },
      [](SequenceSettings& s) { s.binding.key_field = "name"; },
      [](SequenceSettings& s) { s.binding.key_type = KeyType::integer; },
      [](SequenceSettings& s) { s.binding.counter_field = "n"; },
      [](SequenceSettings& s) { s.binding.meaning = Meaning::next; },
      [](SequenceSettings& s) { s.binding.first_id = 1001; },
      [](SequenceSettings& s) { s.binding.create = false; },
      [](SequenceSettings& s) { s.binding.create_index = true; },
      [](SequenceSettings& s) { s.binding.seed_collection = "documents"; },
      [](SequenceSettings& s) { s.binding.seed_field = "id"; },
      [](SequenceSettings& s) { s.lease_min = 11; },
      [](SequenceSettings& s) { s.lease_max = 12; },
      [](SequenceSettings& s) { s.lease_duration_ms = 13; },
      [](SequenceSettings& s) { s.max_available = 14; },
      [](SequenceSettings& s) { s.max_unsynced = 15; },
      [](SequenceSettings& s) { s.max_value = 16; },
      [](SequenceSettings& s) { s.reuse = Reuse::parked; },
      [](SequenceSettings& s) { s.wait_timeout_ms = 17; },
      [](SequenceSettings& s) { s.max_waiters = 18; },
      [](SequenceSettings& s) { s.text.format = "{number:6}"; },
      [](SequenceSettings& s) { s.text.time_zone = "Europe/Vienna"; },
      [](SequenceSettings& s) { s.text.scramble_key_file = "/key"; },
      [](SequenceSettings& s) { s.periods.period = "day"; },
      [](SequenceSettings& s) { s.periods.retain_ms = 19; },
      [](SequenceSettings& s) { s.access.allow.names = "alice"; },
      [](SequenceSettings& s) {
        s.access.allow.compiled = {false, {UserId{1000}}, {}};
      },
      [](SequenceSettings& s) {
        s.access.allow.compiled = {false, {}, {GroupId{1001}}};
      },
      [](SequenceSettings& s) { s.access.deny.names = "bob"; },
      [](SequenceSettings& s) {
        s.access.deny.compiled = {false, {UserId{1002}}, {}};
      },
  };
}

// One is made of each text that the log has.
TEST_CASE("SettingsWithEqualProgressionsAreOneObject") {
  SharedSettings shared;
  const auto find = [&shared](std::int64_t increment) {
    SequenceSettings settings;
    settings.progression.compiled =
        std::make_shared<const IdProgression>(IdProgression::Form{.increment = increment});
    return shared.find(settings);
  };
  const auto first = find(5);
  CHECK(find(5) == first);
  CHECK(find(7) != first);
  CHECK(shared.find(SequenceSettings()) != first);
}

TEST_CASE("SettingsThatAreAlikeAreOneObjectAndOthersAreNot") {
  SharedSettings shared;
  const auto first = shared.find(SequenceSettings());
  for (const auto& differ : differences()) {
    SequenceSettings settings;
    differ(settings);
    const auto other = shared.find(settings);
    CHECK(other != first);
    CHECK(shared.find(SequenceSettings()) == first);
    CHECK(shared.find(settings) == other);
  }
}

}  // namespace
}  // namespace seqd
