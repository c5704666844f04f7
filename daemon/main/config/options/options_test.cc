#include "daemon/main/config/options/options.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <vector>

namespace seqd {
namespace {

// Runs a check for the options of every table.
template <typename Check>
void for_every_table(const Check& check) {
  check(DaemonSettings{});
  check(Limits{});
  check(StoreSettings{});
  check(SequenceSettings{});
}

const OptionInfo& option_named(std::string_view key) {
  for (const OptionInfo* option : all_options())
    if (option->key == key) return *option;
  FAIL("no such option: " << key);
  return *all_options().front();
}

TEST_CASE("EveryOptionIsDocumentedInOneLine") {
  for (const OptionInfo* option : all_options()) {
    INFO(option->key);
    CHECK(option->description.size() >= 15);
    CHECK(option->description.find('\n') == std::string_view::npos);
    CHECK(!option->description.ends_with('.'));
  }
}

TEST_CASE("NoKeyStandsTwiceInATable") {
  std::set<std::pair<OptionTable, std::string_view>> seen;
  for (const OptionInfo* option : all_options()) {
    INFO(option->key);
    CHECK(seen.emplace(option->table, option->key).second);
    CHECK((option->type == OptionType::choice) == !option->choices.empty());
    CHECK(option->min <= option->max);
  }
}

TEST_CASE("EveryDefaultIsAllowedAndSurvivesBeingWrittenAndRead") {
  for_every_table([]<typename Settings>(const Settings&) {
    const Settings defaults = default_settings<Settings>();
    for (const Option<Settings>& option : options<Settings>()) {
      INFO(option.key);
      const OptionValue value = option.read(defaults);
      const std::string text = format_option(option, value);
      if (option.type == OptionType::users) {
        // "*" is the only name that a default may have.
        const bool none = option.fallback.empty();
        CHECK(text == (none ? "[]" : "[\"*\"]"));
        const auto again =
            parse_users(option, none ? std::vector<std::string>() : std::vector<std::string>{"*"});
        REQUIRE(again.ok());
        CHECK(*again == value);
      } else if (option.fallback.empty()) {
        CHECK(text == "\"\"");
      } else if (text.front() == '"') {
        const auto again = parse_option(option, std::string_view(text).substr(1, text.size() - 2));
        REQUIRE(again.ok());
        CHECK(*again == value);
      } else {
        CHECK(text == option.fallback);
      }
    }
  });
}

TEST_CASE("WritingAnOptionChangesItsOwnFieldOnly") {
  for_every_table([]<typename Settings>(const Settings&) {
    for (const Option<Settings>& option : options<Settings>()) {
      INFO(option.key);
      const Settings before = default_settings<Settings>();
      Settings after = before;
      const bool text = option.type == OptionType::text || option.type == OptionType::path ||
                        option.type == OptionType::secret || option.type == OptionType::users;
      const OptionValue was = option.read(before);
      const auto* const number = std::get_if<std::int64_t>(&was);
      // An integer that need not be given holds none.
      const OptionValue value =
          text ? OptionValue(std::string("/other"))
               : OptionValue(1 - std::min<std::int64_t>(1, number == nullptr ? 0 : *number));
      option.write(after, value);
      CHECK(option.read(after) == value);
      for (const Option<Settings>& other : options<Settings>())
        if (other.key != option.key) CHECK(other.read(after) == other.read(before));
    }
  });
}

TEST_CASE("TheDefaultsOfASequenceAreThoseOfTheCore") {
  SequenceSettings core;
  core.store = "";  // the default store, by its name once a configuration is read
  CHECK(default_settings<SequenceSettings>() == core);
}

TEST_CASE("BoundsAreAllowedAndOneBeyondIsNot") {
  for (const OptionInfo* option : all_options()) {
    if (option->type != OptionType::integer && option->type != OptionType::size) continue;
    INFO(option->key);
    CHECK(parse_option(*option, option->min).ok());
    CHECK(parse_option(*option, option->max).ok());
    CHECK(!parse_option(*option, option->min - 1).ok());
    if (option->max < INT64_MAX) CHECK(!parse_option(*option, option->max + 1).ok());
  }
}

TEST_CASE("DurationsAndSizesAreReadInEveryUnit") {
  const OptionInfo& idle = option_named("idle_timeout");
  const auto ms = [&](std::string_view text) {
    return std::get<std::int64_t>(*parse_option(idle, text));
  };
  CHECK(ms("250ms") == 250);
  CHECK(ms("0s") == 0);
  CHECK(ms("90s") == 90'000);
  CHECK(ms("2min") == 120'000);
  CHECK(ms("3h") == 10'800'000);
  CHECK(ms("1d") == 86'400'000);
  const OptionInfo& output = option_named("max_reply_backlog");
  const auto bytes = [&](std::string_view text) {
    return std::get<std::int64_t>(*parse_option(output, text));
  };
  CHECK(bytes("65536B") == 65'536);
  CHECK(bytes("100KiB") == 102'400);
  CHECK(bytes("2MiB") == 2'097'152);
}

TEST_CASE("AValueIsWrittenInItsLargestUnit") {
  const OptionInfo& idle = option_named("idle_timeout");
  CHECK(format_option(idle, std::int64_t{0}) == "\"0s\"");
  CHECK(format_option(idle, std::int64_t{1'001}) == "\"1001ms\"");
  CHECK(format_option(idle, std::int64_t{120'000}) == "\"2min\"");
  CHECK(format_option(option_named("max_reply_backlog"), std::int64_t{1 << 21}) == "\"2MiB\"");
  CHECK(format_option(option_named("socket_mode"), std::int64_t{0600}) == "\"0600\"");
  CHECK(format_option(option_named("socket"), std::string("/a\"b\\c")) == "\"/a\\\"b\\\\c\"");
}

}  // namespace
}  // namespace seqd
