#include "daemon/main/config/config_document.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string problem(const std::string& text) {
  return parse_document(text, "f").status().text();
}

TEST_CASE("ValuesKeepTheirKindAndLine") {
  const auto document = parse_document("a = 1\n\n[t]\nb = true\nc = \"x\\ty\"\n", "f");
  REQUIRE(document.ok());
  REQUIRE(document->entries.size() == 2);
  CHECK(document->entries[0].integer == 1);
  CHECK(document->entries[0].line == 1);
  const DocumentEntry& table = document->entries[1];
  CHECK(table.line == 3);
  REQUIRE(table.table.entries.size() == 2);
  CHECK(table.table.entries[0].boolean);
  CHECK(table.table.entries[1].text == "x\ty");
  CHECK(table.table.entries[1].line == 5);
}

TEST_CASE("DeepKeysAreRefusedBeforeTheParserRecurses") {
  std::string dots;
  for (int i = 0; i < 200'000; ++i) dots += "a.";
  CHECK(problem("[" + dots + "a]\n") == "f:1: a key has more than 8 parts");
  CHECK(problem("\n" + dots + "a = 1\n") == "f:2: a key has more than 8 parts");
  CHECK(problem("x = {" + dots + "a = 1}\n") == "f:1: a key has more than 8 parts");
  CHECK(problem("x = \"\\\\\"\n" + dots + "a = 1\n") == "f:2: a key has more than 8 parts");
  CHECK(problem("# \"\n" + dots + "a = 1\n") == "f:2: a key has more than 8 parts");
  CHECK(
      problem("x = [\n" + std::string(300'000, '[')).find("exceeded maximum nested value depth") !=
      std::string::npos);
}

TEST_CASE("DotsInStringsAndCommentsAreNoDepth") {
  CHECK(problem("a = \"1.2.3.4.5.6.7.8.9.10\" # 1.2.3.4.5.6.7.8.9.10\n").empty());
  CHECK(problem("\"a.b.c.d.e.f.g.h.i.j\" = 1\n").empty());
}

TEST_CASE("QuotesMayStandWhereAKeyOrAValueBegins") {
  CHECK(
      problem(
          "'\u0127'.\"a\" = 1\n[a.'\u0127']\n[[b.'\u0127']]\nx = [\n 'a', # \u0127\n "
          "\"\u0127\"\n]\n"
          "y = { 'a'.'\u0127' = [['\u0127'], 1.5], \"b\" = {} , 'c' = '' }\n'z' = 1.5\n'zz' = ''\n")
          .empty());
}

TEST_CASE("WhatTheParserDoesNotBearIsRefusedBeforeIt") {
  CHECK(problem("a = 1\n\u00e9 = 1\n") ==
        "f:2: a character that is not ASCII, outside of quotes and comments");
  CHECK(problem("a = 1 # \u00e9\nb = \"\u00e9\"\n").empty());
  CHECK(problem("\xef\xbb\xbf"
                "a = 1\n")
            .empty());
  CHECK(problem("a = 1\nb = \"\"\"x\"\"\"\n") ==
        "f:2: a string in triple quotes; allowed: single ones");
  CHECK(problem("a = '''x'''\n") == "f:1: a string in triple quotes; allowed: single ones");
}

TEST_CASE("AMistakeBehindWhichTheParserWouldReadOnIsRefusedBeforeIt") {
  CHECK(problem("J=+7\"\u02bf\n") == "f:1: a quote where no string can begin");
  for (const std::string before : {"g=9ti:Be{{", "g=9=", "g=9.", "g=[9.", "g=9[", "g=[9{",
                                   "g={a=9[", "g{", "[a]", "g,", "g=[]"}) {
    INFO(before);
    CHECK(problem(before + "'\u0127'='A'\n") == "f:1: a quote where no string can begin");
  }
  CHECK(problem("a = 1\nb = \"\u02bf\n\"\n") == "f:2: a string without its closing quote");
  CHECK(problem("a = 'x") == "f:1: a string without its closing quote");
  CHECK(problem("a = [\"x\", \"y\"]\nb = {\"c\" = 'd', e.\"f\" = 1}\n\"g\".\"h\"=1\n").empty());
  CHECK(problem("# comment\n \"a\" = 1\n").empty());
  CHECK(problem(std::string("a = 1\n\0b", 8)) == "f:2: a control character");
}

TEST_CASE("TextThatIsNotUtf8IsRefusedWithItsLine") {
  CHECK(problem("a = 1\nb = \"\xff\"\n") == "f:2: the text is not UTF-8");
  CHECK(problem("a = \"\xc0\xaf\"\n") == "f:1: the text is not UTF-8");
  CHECK(problem("a = \"\xed\xa0\x80\"\n") == "f:1: the text is not UTF-8");
  CHECK(problem(std::string("a = 1\0b", 7)) == "f:1: a control character");
}

TEST_CASE("AnAssertionOfTheParserIsAnErrorOfTheFile") {
  CHECK(problem("[@x]\n").starts_with("f:1: not TOML: "));
  CHECK(problem("a = 1\n[[!]]\n").starts_with("f:2: not TOML: "));
}

TEST_CASE("AFileAtTheSizeLimitIsReadAndOneByteMoreIsNot") {
  const std::string comment = "#" + std::string(kMaxConfigurationSize - 2, 'x') + "\n";
  CHECK(problem(comment).empty());
  CHECK(problem(comment + "\n") ==
        "f:1: the file is longer than 1 MiB; a configuration is not that long");
}

}  // namespace
}  // namespace seqd
