#include "daemon/os/journal/event_line.h"
#include "daemon/os/journal/journal.h"
#include "protocol/text/utf8.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <algorithm>

namespace seqd {
namespace {

TEST_CASE("ControlCharactersCannotMakeASecondLine") {
  CHECK(escape_line("a\nb\tc\rd") == "a\\nb\\tc\\x0dd");
  CHECK(escape_line(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(escape_line("\x1b[2J") == "\\x1b[2J");
  CHECK(escape_line("\x7f") == "\\x7f");
}

TEST_CASE("MarksThatTurnOrBreakALineAreEscapedAndOrdinaryTextIsNot") {
  CHECK(escape_line("\u0085") == "\\xc2\\x85");
  CHECK(escape_line("\u2028") == "\\xe2\\x80\\xa8");
  CHECK(escape_line("\u202e") == "\\xe2\\x80\\xae");
  CHECK(escape_line("\u2066") == "\\xe2\\x81\\xa6");
  CHECK(escape_line("Größe 数 🙂") == "Größe 数 🙂");
}

TEST_CASE("BrokenUtf8IsShownByteByByte") {
  CHECK(escape_line("\xff") == "\\xff");
  CHECK(escape_line("\xe2\x82") == "\\xe2\\x82");
  CHECK(escape_line("\xc0\xaf") == "\\xc0\\xaf");
  CHECK(escape_line("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
}

TEST_CASE("EveryByteComesOutAsOneHarmlessLine") {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  const std::string line = escape_line(all);
  CHECK(protocol::first_invalid_utf8(line) == line.size());
  CHECK(std::none_of(line.begin(), line.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
}

TEST_CASE("LongTextIsCutAtAWholeCharacter") {
  CHECK(escape_line("abcdef", 6) == "abcdef");
  CHECK(escape_line("abcdefg", 6) == "abcdef...");
  CHECK(escape_line("ab€", 4) == "ab...");
  CHECK(escape_line("ab\n", 3) == "ab...");
}

TEST_CASE("FieldsFollowTheTextAndCannotBeForgedByTheirValues") {
  const Event event{EventKind::lease_failed,
                    "no answer",
                    {{"SEQUENCE", "orders"}, {"CAUSE", "x priority=0 \"y\""}, {"EMPTY", ""}}};
  CHECK(event_line(event) ==
        "lease_failed: no answer sequence=orders cause=\"x priority=0 \\\"y\\\"\" empty=\"\"");
}

TEST_CASE("FieldsThatTheJournalWouldRefuseAreLeftOut") {
  const Event event{
      EventKind::gap_epoch_lost,
      "t",
      {{"_PID", "1"}, {"lower", "x"}, {"9A", "x"}, {"", "x"}, {"A=B", "x"}, {"GOOD_1", "x"}}};
  CHECK(event_line(event) == "gap_epoch_lost: t good_1=x");
  CHECK(valid_field_name(std::string(64, 'A')));
  CHECK(!valid_field_name(std::string(65, 'A')));
}

TEST_CASE("ALineStaysBelowTheSizeThatAPipeTakesWhole") {
  Event event{EventKind::gap_epoch_lost, std::string(100'000, 't'), {}};
  for (int i = 0; i < 100; ++i) event.fields.emplace_back("F", std::string(10'000, '\n'));
  CHECK(event_line(event).size() <= kMaxEventLine + 4);
  CHECK(event_line(event).ends_with(" ..."));
}

TEST_CASE("TheJournalGetsMessageIdPriorityAndFields") {
  const Event event{
      EventKind::gap_epoch_lost, "lost\nsome", {{"SEQUENCE", "orders"}, {"bad", "x"}}};
  const auto fields = journal_fields(event);
  const auto& info = event_info(EventKind::gap_epoch_lost);
  CHECK(fields == std::vector<std::string>{"MESSAGE=lost\\nsome",
                                           "MESSAGE_ID=" + std::string(info.message_id),
                                           "PRIORITY=5", "SYSLOG_IDENTIFIER=seqd",
                                           "EVENT=gap_epoch_lost", "SEQUENCE=orders"});
}

}  // namespace
}  // namespace seqd
