#include "daemon/core/text/id_text.h"

#include <rapidcheck.h>

#include <limits>
#include <map>
#include <string>

#include "tests/unit/random_template.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSaturday = 1'795'284'309;  // 2026-11-21 18:05:09

IdTemplate form_of(const std::string& text) {
  const Result<IdTemplate> form = read_template(text);
  REQUIRE(form.ok());
  return *form;
}

std::string write(const std::string& form, std::int64_t number, std::int64_t second = kSaturday) {
  return write_id(form_of(form), number, civil_time(second), nullptr);
}

std::string refusal(const std::string& form, const std::string& text) {
  const Result<ParsedId> parsed = read_id(form_of(form), text, nullptr);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.status().code() == ErrorCode::BAD_TEXT);
  return parsed.status().text();
}

// Numbers of every length, the short and the longest ones too.
std::int64_t random_number() {
  const int bits = *rc::gen::inRange(0, 63);
  const std::int64_t number = *rc::gen::inRange<std::int64_t>(1, kHighest) >> bits;
  return number == 0 ? 1 : number;
}

TEST_CASE("IdIsWrittenAsTheTemplateSays", "[id_text]") {
  CHECK(write("{number}", 42) == "42");
  CHECK(write("INV-{date:%y%m%d}-{number:6}{check:luhn}", 42) == "INV-261121-0000420");
  CHECK(write("{date:%y%m%d}{number}", 7) == "2611217");
  CHECK(write("{date:%Y-%j %H:%M:%S} {number:4,base16}", 48'879) == "2026-325 18:05:09 BEEF");
  CHECK(write("{date:%G-W%V-%u}/{number:base62}", 61) == "2026-W47-6/z");
  CHECK(write("{{{number:3,base58}}}", 58) == "{121}");
  CHECK(write("T{number:5,base32}{check:mod97}", 1'234) == "T0016J70");
  CHECK(write("{number}{check:damm}-DE", 572) == "5724-DE");
}

TEST_CASE("NumberLongerThanItsWidthIsWrittenInFull", "[id_text]") {
  CHECK(write("A{number:3}-{date:%y}", 999) == "A999-26");
  CHECK(write("A{number:3}-{date:%y}", 1'000) == "A1000-26");
  CHECK(write("{number:3}{date:%y}", 12'345) == "1234526");
  const Result<ParsedId> parsed = read_id(form_of("{number:3}{date:%y}"), "1234526", nullptr);
  REQUIRE(parsed.ok());
  CHECK(parsed->number == 12'345);
}

TEST_CASE("TextIsReadBackIntoNumberAndPeriod", "[id_text]") {
  const Result<ParsedId> parsed =
      read_id(form_of("INV-{date:%y%m%d}-{number:6}{check:luhn}"), "INV-261121-0000420", nullptr);
  REQUIRE(parsed.ok());
  CHECK(parsed->number == 42);
  CHECK(parsed->date.get(DatePart::year) == 2026);
  CHECK(parsed->date.get(DatePart::month) == 11);
  CHECK(parsed->date.get(DatePart::day) == 21);
  CHECK_FALSE(parsed->date.get(DatePart::hour));
  CHECK(parsed->date.period() == "2026-11-21");
}

TEST_CASE("PeriodGoesAsFarAsTheTextSays", "[id_text]") {
  const std::map<std::string, std::string> periods = {
      {"%Y", "2026"},
      {"%y", "2026"},
      {"%m", ""},
      {"%Y%m", "2026-11"},
      {"%d%m%Y", "2026-11-21"},
      {"%Y%d", "2026"},
      {"%Y%j", "2026-325"},
      {"%g%V", "2026-W47"},
      {"%G", "2026"},
      {"%G%V%u", "2026-W47-6"},
      {"%V%u", ""},
      {"%Y%m%d%H", "2026-11-21T18"},
      {"%Y%j%H%M", "2026-325T18:05"},
      {"%S%Y%m%d%H%M", "2026-11-21T18:05:09"},
      {"%Y%m%d%M", "2026-11-21"},
      {"%Y%m%H", "2026-11"},
  };
  for (const auto& [format, period] : periods) {
    INFO(format);
    const std::string form = "{date:" + format + "}/{number}";
    const Result<ParsedId> parsed = read_id(form_of(form), write(form, 9), nullptr);
    REQUIRE(parsed.ok());
    CHECK(parsed->date.period() == period);
  }
}

TEST_CASE("WeekOfATwoDigitYearMayBeOfAnyCentury", "[id_text]") {
  constexpr std::int64_t kLastWeekOf2144 = 5'522'428'800;
  const std::string form = "{date:%g-W%V}/{number}";
  CHECK(write(form, 1, kLastWeekOf2144) == "44-W53/1");
  CHECK(read_id(form_of(form), "44-W53/1", nullptr).ok());
  CHECK_FALSE(read_id(form_of("{date:%G-W%V}/{number}"), "2044-W53/1", nullptr).ok());
}

TEST_CASE("SmallLettersAndLookalikesAreReadAsTheAlphabetSays", "[id_text]") {
  const IdTemplate form = form_of("T{number:5,base32}{check:mod97}");
  for (const char* text : {"T0016J70", "Too16j70", "T00i6J70", "TOOL6J70"}) {
    const Result<ParsedId> parsed = read_id(form, text, nullptr);
    REQUIRE(parsed.ok());
    CHECK(parsed->number == 1'234);
  }
  // The template's own letters are not the alphabet's.
  CHECK_FALSE(read_id(form, "t0016J70", nullptr).ok());
}

TEST_CASE("TextThatIsNoneIsRefusedWithPlaceAndWhatIsAllowed", "[id_text]") {
  const std::string invoice = "INV-{date:%y%m%d}-{number:6}{check:luhn}";
  CHECK(refusal(invoice, "INV-261121-000042") == "the text has 17 characters; allowed: 18 to 31");
  CHECK(refusal(invoice, "") == "the text has 0 characters; allowed: 18 to 31");
  CHECK(refusal(invoice, std::string(5'000, 'I')) ==
        "the text has 5000 characters; allowed: 18 to 31");
  CHECK(refusal(invoice, "INW-261121-0000420") == "position 3: found \"W\"; allowed: \"V\"");
  CHECK(refusal(invoice, "INV\n261121-0000420") ==
        "position 4: found the byte 0x0a; allowed: \"-\"");
  CHECK(refusal(invoice,
                "INV-2611\xff"
                "1-0000420") == "position 9: found the byte 0xff; allowed: a digit of the day");
  CHECK(refusal(invoice, "INV-261321-0000420") ==
        "position 7: found \"13\" for the month; allowed: 01 to 12");
  CHECK(refusal(invoice, "INV-260229-0000422") == "position 9: the day does not exist");
  CHECK(refusal(invoice, "INV-261121-00o0428") ==
        "position 14: found \"o\"; allowed: a digit of the number, 0-9");
  CHECK(refusal(invoice, "INV-261121-0000429") ==
        "position 18: the check digits (luhn) do not match: some character of the text is wrong");
  CHECK(refusal(invoice, "INV-261121-00000420") ==
        "position 12: the number has a zero too many in front");
  CHECK(refusal(invoice, "INV-261121-0000000") ==
        "position 12: the number is not within 1 to 9223372036854775807");
  CHECK(refusal("{number}", "9223372036854775808") ==
        "position 1: the number is not within 1 to 9223372036854775807");
  CHECK(refusal("{number}", "042") == "position 1: the number has a zero too many in front");
  CHECK(refusal("{number:19}", "1") == "the text has 1 characters; allowed: 19");
  CHECK(refusal("{date:%Y%j}/{number}", "2026366/1") ==
        "position 5: the day of the year does not exist");
  CHECK(refusal("{date:%g-W%V}/{number}", "27-W53/1") == "position 5: the week does not exist");
}

TEST_CASE("WriteAndReadAreInverse", "[id_text]") {
  CHECK(rc::check([] {
    const std::string text = random_template(false);
    const Result<IdTemplate> form = read_template(text);
    RC_ASSERT(form.ok());
    const std::int64_t number = random_number();
    const CivilTime time = civil_time(*rc::gen::inRange<std::int64_t>(0, kLastSecond + 1));
    const std::string id = write_id(*form, number, time, nullptr);
    const Result<ParsedId> parsed = read_id(*form, id, nullptr);
    if (!parsed.ok()) RC_LOG() << text << " " << id << ": " << parsed.status().text();
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed->number == number);
    IdDate date;
    for (const IdTemplate::Piece& piece : form->pieces) {
      if (piece.kind == IdTemplate::Kind::date) date.set(piece.part, value_of(piece.part, time));
    }
    RC_ASSERT(parsed->date == date);
  }));
}

// Whatever is read was written by write_id(), for that number and a moment with those date parts;
// so no two texts are the same ID.
TEST_CASE("ChangedTextIsRefusedOrAnotherIdOrAnotherSpelling", "[id_text]") {
  CHECK(rc::check([] {
    const IdTemplate form = read_template(random_template(false)).value();
    const std::int64_t number = random_number();
    const CivilTime time = civil_time(*rc::gen::inRange<std::int64_t>(0, kLastSecond + 1));
    const std::string id = write_id(form, number, time, nullptr);
    std::string changed = id;
    const auto at = *rc::gen::inRange<std::size_t>(0, id.size());
    changed.replace(at, *rc::gen::inRange<std::size_t>(0, 2),
                    *rc::gen::container<std::string>(rc::gen::inRange(' ', '~')));
    const Result<ParsedId> parsed = read_id(form, changed, nullptr);
    if (!parsed.ok()) return;
    CivilTime same = time;
    same.year = parsed->date.get(DatePart::year).value_or(time.year);
    same.month = parsed->date.get(DatePart::month).value_or(time.month);
    same.day = parsed->date.get(DatePart::day).value_or(time.day);
    same.day_of_year = parsed->date.get(DatePart::day_of_year).value_or(time.day_of_year);
    same.hour = parsed->date.get(DatePart::hour).value_or(time.hour);
    same.minute = parsed->date.get(DatePart::minute).value_or(time.minute);
    same.second = parsed->date.get(DatePart::second).value_or(time.second);
    same.week_year = parsed->date.get(DatePart::week_year).value_or(time.week_year);
    same.week = parsed->date.get(DatePart::week).value_or(time.week);
    same.weekday = parsed->date.get(DatePart::weekday).value_or(time.weekday);
    const std::string canonical = write_id(form, parsed->number, same, nullptr);
    RC_ASSERT(canonical.size() == changed.size());
    for (std::size_t i = 0; i < canonical.size(); ++i) {
      if (canonical[i] == changed[i]) continue;
      RC_ASSERT(form.radix->value(changed[i]) == form.radix->value(canonical[i]));
    }
  }));
}

TEST_CASE("EveryWrongDigitAndSwapOfACheckedTextIsFound", "[id_text]") {
  CHECK(rc::check([] {
    const std::string kind = *rc::gen::element<std::string>("damm", "mod97");
    const IdTemplate form = read_template("A{date:%y%m%d}-{number:8}{check:" + kind + "}").value();
    const std::string id =
        write_id(form, *rc::gen::inRange<std::int64_t>(1, 100'000'000),
                 civil_time(*rc::gen::inRange<std::int64_t>(0, kLastSecond)), nullptr);
    for (std::size_t at = 0; at < id.size(); ++at) {
      for (char c = '0'; c <= '9'; ++c) {
        std::string wrong = id;
        wrong[at] = c;
        RC_ASSERT(read_id(form, wrong, nullptr).ok() == (c == id[at]));
      }
      if (at == 0 || id[at] == id[at - 1]) continue;
      std::string swapped = id;
      std::swap(swapped[at], swapped[at - 1]);
      RC_ASSERT_FALSE(read_id(form, swapped, nullptr).ok());
    }
  }));
}

}  // namespace
}  // namespace seqd
