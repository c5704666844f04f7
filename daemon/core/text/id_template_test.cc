#include "daemon/core/text/id_template.h"

#include <rapidcheck.h>

#include <string>

#include "tests/unit/random_template.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Kind = IdTemplate::Kind;

struct Refused {
  std::string text;
  std::string why;
};

TEST_CASE("TemplateIsReadIntoItsPieces", "[id_template]") {
  const Result<IdTemplate> form = read_template("I{{V-{date:%y.%m}-{number:6,base32}{check:mod97}");
  REQUIRE(form.ok());
  REQUIRE(form->pieces.size() == 7);
  CHECK(form->pieces[0].literal == "I{V-");
  CHECK(form->pieces[1].part == DatePart::short_year);
  CHECK(form->pieces[2].literal == ".");
  CHECK(form->pieces[3].part == DatePart::month);
  CHECK(form->pieces[4].literal == "-");
  CHECK(form->pieces[5].kind == Kind::number);
  CHECK(form->pieces[6].kind == Kind::check);
  CHECK(form->pieces[6].length == 2);
  CHECK(form->radix->base() == 32);
  CHECK(form->width == 6);
  CHECK(form->check == CheckKind::mod97);
  CHECK_FALSE(form->scramble);
}

TEST_CASE("OptionsOfTheNumberComeInAnyOrder", "[id_template]") {
  for (const char* text :
       {"{number:8,base16,scramble}", "{number:scramble,base16,8}", "{number:base16,8,scramble}"}) {
    const Result<IdTemplate> form = read_template(text);
    REQUIRE(form.ok());
    CHECK(form->width == 8);
    CHECK(form->radix->base() == 16);
    CHECK(form->scramble);
  }
}

TEST_CASE("NumberWithoutWidthMayTouchWhatHasAFixedLength", "[id_template]") {
  for (const char* text : {"{number}", "{date:%y%m%d}{number}", "7{number}", "{number}{check:luhn}",
                           "{number}A", "{number}{check:damm}7", "{number:base16}G",
                           "{number:base16}-A", "{number:6}7", "{number:4}{date:%y}"}) {
    INFO(text);
    CHECK(read_template(text).ok());
  }
}

TEST_CASE("BadTemplateIsRefusedWithPlaceAndWhatIsAllowed", "[id_template]") {
  const std::string letters = "%Y %y %m %d %j %H %M %S %G %g %V %u";
  const std::string words =
      "; allowed: {date:...}, {number...}, {key}, {check:...}, and {{ for a brace";
  const std::string options =
      "; allowed: a width from 1 on, base and one of 10, 16, 32, 36, 58, 62, scramble; each once";
  const std::string once =
      "; allowed: each part once, and one of %Y %y, of %G %g, of %j %m, of %j %d";
  const std::string mixed =
      "; allowed: %G %g %V %u (the weeks and their years) or %Y %y %m %d %j, not both";
  const Refused all[] = {
      {"", "position 1: the end, and no {number}; allowed: exactly one"},
      {"INV", "position 4: the end, and no {number}; allowed: exactly one"},
      {"{number}-{number}", "position 10: found a second {number}; allowed: exactly one"},
      {"a\tb", "position 2: found a character that is not plain ASCII; allowed: space to ~"},
      {"Nr\xc2\xba{number}",
       "position 3: found a character that is not plain ASCII; allowed: space to ~"},
      {"{number", "position 1: found a { without its }; allowed: {{ for a brace"},
      {"{num{ber}", "position 1: found a { without its }; allowed: {{ for a brace"},
      {"{number}}", "position 9: found a } without its {; allowed: }} for a brace"},
      {"A{}", "position 2: found \"{}\"" + words},
      {"{seq}", "position 1: found \"{seq}\"" + words},
      {"{Number}", "position 1: found \"{Number}\"" + words},
      {"{number:}", "position 9: found \"\"" + options},
      {"{number:0}", "position 9: found \"0\"" + options},
      {"{number:6,7}", "position 11: found \"7\"" + options},
      {"{number:6,base11}", "position 11: found \"base11\"" + options},
      {"{number:base16,base16}", "position 16: found \"base16\"" + options},
      {"{number:6,}", "position 11: found \"\"" + options},
      {"{number: 6}", "position 9: found \" 6\"" + options},
      {"{number:20}", "position 1: found the width 20; allowed: at most 19 digits in base 10"},
      {"{number:12,base62}",
       "position 1: found the width 12; allowed: at most 11 digits in base 62"},
      {"{number:scramble}",
       "position 1: found scramble with no width; allowed: at least 6 digits in base 10, because "
       "fewer numbers than a million cannot be hidden"},
      {"x{number:3,base62,scramble}",
       "position 2: found scramble with the width 3; allowed: at least 4 digits in base 62, "
       "because "
       "fewer numbers than a million cannot be hidden"},
      {"{number}7",
       "position 1: found a number without a width before \"7\", so that its end cannot be "
       "determined; allowed: {number:WIDTH}, or a character between them that is no digit of base "
       "10"},
      {"{number:base36}o",
       "position 1: found a number without a width before \"o\", so that its end cannot be "
       "determined; allowed: {number:WIDTH}, or a character between them that is no digit of base "
       "36"},
      {"{number}{date:%y}",
       "position 1: found a number without a width before a date, so that its end cannot be "
       "determined; allowed: {number:WIDTH}, or a character between them that is no digit of base "
       "10"},
      {"{date}{number}", "position 6: found no date part; allowed: {date:FORMAT} with " + letters},
      {"{date:2026}{number}",
       "position 7: found no date part; allowed: {date:FORMAT} with " + letters},
      {"{date:%Q}{number}", "position 7: found \"%Q\"; allowed: " + letters},
      {"{date:%Y%}{number}", "position 9: found \"%\"; allowed: " + letters},
      {"{date:%Y%Y}{number}", "position 9: found \"%Y\" besides \"%Y\" (position 7)" + once},
      {"{date:%Y}{number:4}{date:%y}",
       "position 26: found \"%y\" besides \"%Y\" (position 7)" + once},
      {"{date:%j%d}{number}", "position 9: found \"%d\" besides \"%j\" (position 7)" + once},
      {"{date:%Y-W%V}{number}", "position 11: found \"%V\" besides \"%Y\" (position 7)" + mixed},
      {"{check:luhn}{number}",
       "position 1: found {check} before {number}; allowed: after it, because it is computed over "
       "the text before"},
      {"{number}{check}", "position 15: found \"\"; allowed: luhn, damm, mod97"},
      {"{number}{check:crc}", "position 16: found \"crc\"; allowed: luhn, damm, mod97"},
      {"{number}{check:luhn}{check:damm}",
       "position 21: found a second {check}; allowed: at most one"},
      {"{number:base16}{check:luhn}",
       "position 16: found the check \"luhn\" of a number in base 16; allowed: luhn and damm in "
       "base 10 (they have no letters), mod97 up to base 36 (it does not distinguish upper and "
       "lower case)"},
      {"{number:base58}{check:mod97}",
       "position 16: found the check \"mod97\" of a number in base 58; allowed: luhn and damm in "
       "base 10 (they have no letters), mod97 up to base 36 (it does not distinguish upper and "
       "lower case)"},
      {std::string(250, 'x') + "{number}", "has 258 characters; allowed: at most 255"},
  };
  for (const Refused& refused : all) {
    INFO(refused.text);
    const Result<IdTemplate> form = read_template(refused.text);
    REQUIRE_FALSE(form.ok());
    CHECK(form.status().code() == ErrorCode::CONFIG);
    CHECK(form.status().text() == refused.why);
  }
}

TEST_CASE("RandomTemplateIsTaken", "[id_template]") {
  CHECK(rc::check([] {
    const std::string text = random_template(true);
    const Result<IdTemplate> form = read_template(text);
    if (!form.ok()) RC_LOG() << form.status().text();
    RC_ASSERT(form.ok());
  }));
}

TEST_CASE("AnyTextIsReadOrRefused", "[id_template]") {
  CHECK(rc::check([] {
    std::string text = random_template(true);
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const auto length = *rc::gen::inRange<std::size_t>(0, 4);
    text.replace(at, length, *rc::gen::arbitrary<std::string>());
    const Result<IdTemplate> form = read_template(text);
    if (form.ok()) {
      RC_ASSERT(form->radix != nullptr);
      RC_ASSERT(form->width <= form->radix->longest());
    } else {
      RC_LOG() << text << ": " << form.status().text();
      RC_ASSERT(form.status().text().find("allowed: ") != std::string::npos);
    }
  }));
}

}  // namespace
}  // namespace seqd
