#include "daemon/main/config/sequences/config_periods.h"

#include <map>

#include "daemon/core/text/id_format.h"

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

constexpr std::int64_t kLateSaturday = 1'795'304'109;  // 2026-11-21 23:35:09 UTC

std::string mongo(const std::string& sequence) {
  return "[store.default]\ntype = \"mongodb\"\nuri = "
         "\"mongodb://h/?w=majority\"\n[sequence.ids]\n" +
         sequence;
}

TEST_CASE("SettingsOfAPeriodHaveItsCounter", "[config][period]") {
  const Configuration configuration = configuration_of(mongo(
      "collection = \"ids\"\nkey_field = \"prefix\"\nkey = \"{period}\"\nkey_type = \"integer\"\n"
      "counter_field = \"count\"\nmeaning = \"last\"\nperiod = \"%y%m%d\"\n"
      "time_zone = \"Europe/Berlin\"\nformat = \"{date:%y%m%d}{number:3}\"\nperiod_retention = "
      "\"400d\"\n"));
  const SequenceSettings* ids = configuration.find("ids");
  REQUIRE(ids != nullptr);
  REQUIRE(ids->periods.rule != nullptr);
  CHECK_FALSE(ids->periods.current);
  const Period now = ids->periods.rule->at(kLateSaturday);
  CHECK(now.name == "2026-11-22");  // in Berlin it is half past midnight
  const SequenceSettings* today = configuration.find("ids@2026-11-22");
  REQUIRE(today != nullptr);
  CHECK(today->binding.key == "261122");
  CHECK(today->binding.key_type == KeyType::integer);
  REQUIRE(today->periods.current);
  CHECK(today->periods.current->begin_s == now.begin_s);
  CHECK(today->periods.retain_ms == 400LL * 86'400'000);
  CHECK(configuration.find("ids@2026-11-32") == nullptr);
  CHECK(configuration.find("others@2026-11-22") == nullptr);
}

TEST_CASE("WithoutAKeyEachPeriodHasTheNameWithItsDate", "[config][period]") {
  const Configuration configuration = configuration_of("[sequence.orders]\nperiod = \"week\"\n");
  REQUIRE(configuration.find("orders@2026-W47") != nullptr);
  CHECK(configuration.find("orders@2026-W47")->binding.key == "orders@2026-W47");
  CHECK(configuration.find("orders@2026-11-22") == nullptr);
}

TEST_CASE("FormatOfASequenceWithPeriodsTellsThem", "[config][period]") {
  const Configuration chosen = configuration_of("[sequence.orders]\nperiod = \"month\"\n");
  CHECK(chosen.find("orders")->text.compiled->write("orders", 7, kLateSaturday) == "2026-11-7");
  for (const char* format :
       {"{date:%y%m}{number:4}", "{date:%Y-%m-%d %H:%M}/{number}", "{date:%Y%j}{number:2}"}) {
    configuration_of("[sequence.orders]\nperiod = \"month\"\nformat = \"" + std::string(format) +
                     "\"\n");
  }
  for (const char* format : {"{number}", "A{number}", "{date:%Y}-{number}", "{date:%m}-{number}",
                             "{date:%G-%V}-{number}", "{date:%H}-{number}"}) {
    const std::string found = problems_of("[sequence.orders]\nperiod = \"month\"\nformat = \"" +
                                          std::string(format) + "\"\n");
    INFO(found);
    CHECK(found.find("f:3: sequence.\"orders\".format: found \"" + std::string(format) +
                     "\", which does not contain the period") == 0);
  }
}

TEST_CASE("PeriodsThatMakeNoSenseAreRefusedWithTheirPlace", "[config][period]") {
  const std::map<std::string, std::string> cases = {
      {"period = \"daily\"\n", "f:5: sequence.\"ids\".period: found \"daily\"; allowed: year, "},
      {"period = \"%m%d\"\n", "f:5: sequence.\"ids\".period: found \"%m%d\"; allowed: year, "},
      {"period_retention = \"400d\"\n",
       "f:5: sequence.\"ids\".period_retention: found without period"},
      {"period = \"day\"\nperiod_retention = \"1d\"\n",
       "f:6: sequence.\"ids\".period_retention: found less than 2d"},
      {"period = \"day\"\nkey = \"ids\"\n", "f:6: sequence.\"ids\".key: found {period} 0 times"},
      {"period = \"day\"\nkey = \"{period}{period}\"\n",
       "f:6: sequence.\"ids\".key: found {period} 2 times"},
      {"key = \"{period}\"\n", "f:5: sequence.\"ids\".key: found {period}, but no option period"},
      {"key_type = \"integer\"\n", "f:5: sequence.\"ids\".key_type: found integer with the key"},
      {"key = \"07\"\nkey_type = \"integer\"\n", "f:6: sequence.\"ids\".key_type: found integer"},
      {"key = \"a{period}\"\nperiod = \"%y%m%d\"\nkey_type = \"integer\"\n",
       "f:7: sequence.\"ids\".key_type: found integer with the key"},
      {"key = \"{period}\"\nperiod = \"day\"\nkey_type = \"integer\"\n",
       "f:7: sequence.\"ids\".key_type: found integer, but the period \"day\" is not a number"},
      {"period = \"day\"\ntime_zone = \"Atlantis\"\n", "f:6: sequence.\"ids\".time_zone: "},
  };
  for (const auto& [text, begins] : cases) {
    INFO(text);
    CHECK(problems_of(mongo(text)).find(begins) == 0);
  }
  CHECK(problems_of("[sequence.ids]\nkey = \"7\"\nkey_type = \"integer\"\n")
            .find("allowed: in a store of type mongodb") != std::string::npos);
  CHECK(problems_of("[sequence.\"a*\"]\nperiod = \"day\"\nkey = \"{period}\"\n")
            .find("would bind many sequences to one counter") != std::string::npos);
}

TEST_CASE("DefaultsMayGiveEverySequencePeriods", "[config][period]") {
  const Configuration configuration = configuration_of(
      "[sequence_defaults]\nperiod = \"day\"\nperiod_retention = \"90d\"\n"
      "[sequence.plain]\nperiod = \"\"\n");
  CHECK(configuration.find("any@2026-11-22") != nullptr);
  CHECK(configuration.find("plain@2026-11-22") == nullptr);
  CHECK(configuration.find("plain")->binding.key == "plain");
  CHECK(configuration.find_format("any")->write("any", 7, kLateSaturday) == "2026-11-21-7");
}

TEST_CASE("ReloadKeepsThePeriodsAndTakesTheZone", "[config][period]") {
  const Configuration running = configuration_of("[sequence.orders]\nperiod = \"day\"\n");
  REQUIRE(running.find("orders@2026-11-21") != nullptr);
  Configuration next =
      configuration_of("[sequence.orders]\nperiod = \"month\"\nperiod_retention = \"90d\"\n");
  const ConfigurationChanges changes = prepare_reload(running, next, {"orders"});
  CHECK(changes.restart_needed == std::vector<std::string>{"sequence.\"orders\".period"});
  CHECK(changes.applied == std::vector<std::string>{"sequence.\"orders\".period_retention"});
  REQUIRE(next.find("orders@2026-11-22") != nullptr);
  CHECK(next.find("orders@2026-11-22")->periods.retain_ms == 90LL * 86'400'000);
  CHECK(next.find("orders@2026-11") == nullptr);

  Configuration zoned =
      configuration_of("[sequence.orders]\nperiod = \"day\"\ntime_zone = \"Europe/Berlin\"\n");
  CHECK(prepare_reload(running, zoned, {"orders"}).restart_needed.empty());
  CHECK(zoned.find("orders")->periods.rule->at(kLateSaturday).name == "2026-11-22");
}

TEST_CASE("SequencesWithTablesOfTheirOwnAreShownAsTheyAreWritten", "[config][period]") {
  const Configuration configuration = configuration_of(
      "[sequence.orders]\nperiod = \"month\"\n"
      "[sequence.ids]\nperiod = \"day\"\nkey = \"day-{period}\"\n"
      "[sequence.\"shop-*\"]\nperiod = \"day\"\n"
      "[sequence.plain]\n");
  std::map<std::string, std::string> keys;
  for (const NamedSequence& one : configuration.named_sequences())
    keys[one.name] = one.settings->binding.key;
  CHECK(keys ==
        std::map<std::string, std::string>{{"orders", ""}, {"ids", "day-{period}"}, {"plain", ""}});
}

}  // namespace
}  // namespace seqd
