#include "daemon/core/names/id_form.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/core/text/id_format.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string plain(const std::string& format) {
  return "- - " + format;
}
std::string daily(const std::string& format) {
  return "day - " + format;
}

TEST_CASE("FormThatGivesATextOfAnotherIdMayRepeat", "[id_form]") {
  const std::vector<std::pair<std::string, std::string>> repeat = {
      {"{number:6}", "{number:6,base16}"},
      {"{number:6}", "{number:6}{check:luhn}"},
      {"{number}", "1{number}"},
      {"A{number:4}", "A{number:3}7"},
      {"{number:4}{date:%y}", "{date:%y}{number:4}"},
      {"{number:8,base32}", "{number:8,base62}"},
  };
  for (const auto& [one, other] : repeat) {
    INFO(one << ", " << other);
    CHECK(may_repeat(plain(one), plain(other)));
    CHECK(may_repeat(plain(other), plain(one)));
  }
}

TEST_CASE("FormThatDiffersInACharacterOrReadsAlikeDoesNotRepeat", "[id_form]") {
  const std::vector<std::pair<std::string, std::string>> apart = {
      {"{number:6}", "INV-{number:6}"},
      {"INV-{number:6}", "ORD-{number:6,base16}"},
      {"{number:6}", "{number:8}"},
      {"{number}", "{number:4}"},
      {"{date:%y%m%d}-{number}", "{date:%Y%m%d}-{number}"},
      {"{date:%y%m%d}-{number}", "{date:%d%m%y}-{number}"},
      {"{number:6}-{check:luhn}", "{number:6,base16}.{check:mod97}"},
      {"A{number:6}Z", "B{number:6}Z"},
  };
  for (const auto& [one, other] : apart) {
    INFO(one << ", " << other);
    CHECK_FALSE(may_repeat(plain(one), plain(other)));
    CHECK_FALSE(may_repeat(plain(other), plain(one)));
  }
}

TEST_CASE("TextsOfPeriodsTellTheSamePeriod", "[id_form]") {
  CHECK(may_repeat(daily("{date:%y%m%d}-{number}"), daily("{date:%d%m%y}-{number}")));
  CHECK_FALSE(may_repeat(daily("{date:%y%m%d}-{number}"), daily("{date:%y%m%d}-{number:4}")));
  CHECK(may_repeat("hour - {date:%y%m%d%H}-{number}", daily("{date:%y%m%d%H}-{number}")));
  CHECK(may_repeat(plain("{date:%y%m%d}-{number}"), daily("{date:%y%m%d}-{number}")));
}

TEST_CASE("ZoneIsInTheFormOfATextWithADateOnly", "[id_form]") {
  const auto form = [](const std::string& format, const std::string& zone) {
    SequenceSettings settings;
    settings.text.format = format;
    settings.text.time_zone = zone;
    settings.text.compiled =
        std::make_shared<IdFormat>(read_template(format).value(), nullptr, nullptr);
    return form_of(settings);
  };
  CHECK(form("{number}", "Europe/Berlin") == form("{number}", "UTC"));
  CHECK(form("{date:%H}-{number}", "UTC") == "- - {date:%H}-{number}");
  const std::string berlin = form("{date:%H}-{number}", "Europe/Berlin");
  CHECK(berlin == "-@Europe/Berlin - {date:%H}-{number}");
  CHECK(form_shown(berlin) == "\"{date:%H}-{number}\", time zone Europe/Berlin");
  // A period's number is told by the period, whatever the zone in which that is one.
  const std::string day = "{date:%y%m%d}-{number}";
  CHECK_FALSE(may_repeat(daily(day), "day@Europe/Berlin - " + day));
  CHECK(may_repeat("hour@Europe/Berlin - " + day, daily(day)));
}

TEST_CASE("AnotherKeyMayRepeatUnlessTheTextTellsIt", "[id_form]") {
  const std::string format = "{number:8,scramble}";
  CHECK(may_repeat("- 0:11111111 " + format, "- 0:22222222 " + format));
  CHECK_FALSE(may_repeat("- 0:11111111 " + format, "- 0:11111111 A" + format));
  CHECK_FALSE(may_repeat("- 1:11111111 {key}" + format, "- 2:22222222 {key}" + format));
  CHECK(may_repeat("- 1:11111111 {key}" + format, "- 1:22222222 {key}" + format));
  CHECK(may_repeat("- 0:11111111 " + format, "- 1:22222222 {key}" + format));
  CHECK(may_repeat("- 0:11111111 " + format, "- - {number:8}"));
}

TEST_CASE("WhatCannotBeReadMayRepeat", "[id_form]") {
  for (const char* line : {"", "-", "- {number}", "- - {nummer}"}) {
    CHECK(may_repeat(line, plain("{number}")));
  }
  CHECK_FALSE(may_repeat("?", "?"));
  CHECK(form_shown(plain("A{number}")) == "\"A{number}\"");
}

// Every pair that passes for apart, tried with all small numbers and those around the width.
TEST_CASE("FormsThatPassForApartGiveNoTextTwice", "[id_form][property]") {
  const std::vector<std::string> formats = {"{number}",           "{number:2}",
                                            "{number:4}",         "A{number:2}",
                                            "A{number}",          "1{number:2}",
                                            "{number:2}1",        "{number:3,base16}",
                                            "{number:2,base16}A", "{number:3}{check:luhn}",
                                            "{number:2}-7",       "A-{number:2,base32}",
                                            "{number:2,base62}",  "{number:2}-{check:mod97}",
                                            "{number:3,base16}-7"};
  std::map<std::string, std::map<std::string, std::int64_t>> texts;
  for (const std::string& format : formats) {
    const IdTemplate form = read_template(format).value();
    for (std::int64_t number = 1; number < 6'000; ++number)
      texts[format][write_id(form, number, civil_time(0), nullptr)] = number;
  }
  int apart = 0;
  int together = 0;
  for (const std::string& one : formats) {
    for (const std::string& other : formats) {
      bool twice = false;
      for (const auto& [text, number] : texts[one]) {
        const auto found = texts[other].find(text);
        twice = twice || (found != texts[other].end() && found->second != number);
      }
      INFO(one << ", " << other);
      if (twice) CHECK(may_repeat(plain(one), plain(other)));
      ++(may_repeat(plain(one), plain(other)) ? together : apart);
    }
  }
  CHECK(apart > 40);
  CHECK(together > 20);
}

}  // namespace
}  // namespace seqd
