#include "client-lib/seqctl/command_line.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "client-lib/seqctl/exit_codes.h"

namespace seqd::seqctl {
namespace {

Parsed parse(std::vector<const char*> words) {
  words.insert(words.begin(), "seqctl");
  return parse_command_line(static_cast<int>(words.size()), words.data(), "0.1.0");
}

}  // namespace

TEST_CASE("NextTakesANameAndACount", "[client]") {
  const Parsed one = parse({"next", "orders"});
  REQUIRE(one.runs);
  CHECK(one.arguments.command == Command::next);
  CHECK(one.arguments.name == "orders");
  CHECK(one.arguments.count == 1);
  CHECK(one.arguments.timeout_ms == 5'000);
  CHECK(one.arguments.format == Format::text);
  CHECK(parse({"next", "orders", "-n", "25"}).arguments.count == 25);
}

TEST_CASE("TextsAreTakenByAFlagAndParsedByACommand", "[client]") {
  CHECK_FALSE(parse({"next", "orders"}).arguments.as_text);
  const Arguments next = parse({"next", "--text", "orders", "-n", "3"}).arguments;
  CHECK(next.as_text);
  CHECK(next.count == 3);
  const Arguments text = parse({"parse", "orders", "INV-1"}).arguments;
  CHECK(text.command == Command::parse);
  CHECK(text.name == "orders");
  CHECK(text.text == "INV-1");
  CHECK(parse({"parse", "orders"}).exit_code == kExitUsage);
}

TEST_CASE("OptionsMayStandBeforeAndBehindTheCommand", "[client]") {
  for (const auto& words :
       {std::vector<const char*>{"--socket", "/s", "-o", "json", "--timeout", "0.25", "list"},
        std::vector<const char*>{"list", "--socket", "/s", "-o", "json", "--timeout", "0.25"}}) {
    const Parsed parsed = parse(words);
    REQUIRE(parsed.runs);
    CHECK(parsed.arguments.command == Command::list);
    CHECK(parsed.arguments.socket == "/s");
    CHECK(parsed.arguments.format == Format::json);
    CHECK(parsed.arguments.timeout_ms == 250);
  }
}

TEST_CASE("WordThatIsNoCommandIsNamed", "[client]") {
  for (const auto& words : {std::vector<const char*>{"nosuch"},
                            std::vector<const char*>{"-o", "json", "nosuch", "orders"}}) {
    const Parsed parsed = parse(words);
    CHECK_FALSE(parsed.runs);
    CHECK(parsed.exit_code == kExitUsage);
    CHECK(parsed.text == "seqctl: \"nosuch\" is not a command; seqctl --help lists the commands\n");
  }
  CHECK_THAT(parse({}).text, Catch::Contains("subcommand is required"));
  CHECK_THAT(parse({"list", "more"}).text, !Catch::Contains("is not a command"));
}

TEST_CASE("OutputIsTextOrJsonAndHelpSaysSo", "[client]") {
  CHECK(parse({"list"}).arguments.format == Format::text);
  CHECK(parse({"-o", "text", "list"}).arguments.format == Format::text);
  CHECK(parse({"-o", "xml", "list"}).exit_code == kExitUsage);
  CHECK(parse({"-o", "1", "list"}).exit_code == kExitUsage);
  const std::string help = parse({"--help"}).text;
  CHECK_THAT(help, !Catch::Contains("->") && Catch::Contains("-o,--output FORMAT"));
}

TEST_CASE("TimeOutIsKnownToBeGiven", "[client]") {
  CHECK_FALSE(parse({"list"}).arguments.timeout_is_given);
  CHECK(parse({"-t", "600", "list"}).arguments.timeout_is_given);
}

TEST_CASE("EveryCommandIsKnown", "[client]") {
  CHECK(parse({"range", "orders", "10"}).arguments.command == Command::range);
  CHECK(parse({"purge", "orders"}).arguments.command == Command::purge);
  CHECK_FALSE(parse({"purge", "orders"}).arguments.yes);
  CHECK(parse({"purge", "--yes", "orders"}).arguments.yes);
  CHECK(parse({"purge"}).exit_code == kExitUsage);
  CHECK(parse({"peek", "orders"}).arguments.command == Command::peek);
  CHECK(parse({"status"}).arguments.command == Command::status);
  CHECK(parse({"ping"}).arguments.command == Command::ping);
  CHECK(parse({"clients"}).arguments.command == Command::clients);
  CHECK(parse({"rights"}).arguments.command == Command::rights);
  CHECK(parse({"rights", "orders", "bills"}).arguments.names.size() == 2);
  CHECK(parse({"config", "dump"}).arguments.command == Command::config_dump);
  CHECK(parse({"config", "dump", "orders", "-o", "json"}).arguments.name == "orders");
  CHECK(parse({"config"}).exit_code == kExitUsage);
  CHECK(parse({"config", "orders"}).exit_code == kExitUsage);
  CHECK(parse({"reload"}).arguments.command == Command::reload);
  CHECK(parse({"wait", "--timeout", "30"}).arguments.command == Command::wait);
  CHECK(parse({"audit", "orders"}).arguments.command == Command::audit);
  const Arguments explain = parse({"explain", "orders", "9223372036854775807"}).arguments;
  CHECK(explain.command == Command::explain);
  CHECK(explain.id == 9'223'372'036'854'775'807);
  for (const char* text : {"INV-261121-0000420", "1.5", "9223372036854775808"}) {
    const Arguments of_text = parse({"explain", "orders", text}).arguments;
    CHECK((!of_text.id && of_text.text == text));
  }
  const Arguments digits = parse({"explain", "orders", "000420", "--text"}).arguments;
  CHECK((!digits.id && digits.text == "000420"));
  CHECK(parse({"insert", "people", "{}", "--unique", "mail"}).arguments.unique == "mail");
  const Arguments gaps = parse({"gaps", "orders", "-n", "7", "--after", "3"}).arguments;
  CHECK(gaps.command == Command::gaps);
  CHECK((gaps.gaps == 7 && gaps.after == 3));
  CHECK_FALSE(parse({"advance", "orders"}).arguments.id);
  const Arguments advance = parse({"advance", "orders", "--to", "5000"}).arguments;
  CHECK(advance.command == Command::advance);
  CHECK(advance.id == 5000);
  CHECK_FALSE(advance.everywhere);
  CHECK(parse({"advance", "orders", "--everywhere"}).arguments.everywhere);
  const Arguments all = parse({"advance", "--all", "--store", "main", "--resume"}).arguments;
  CHECK((all.all && all.store == "main" && all.resume && !all.yes));
  CHECK(parse({"explain", "orders", "-5"}).arguments.id == -5);
  CHECK(parse({"advance", "orders", "--to", "-5"}).arguments.id == -5);
  CHECK(parse({"advance", "orders", "--to", "0"}).arguments.id == 0);
  const Arguments drain = parse({"drain", "orders"}).arguments;
  CHECK(drain.command == Command::drain);
  CHECK((drain.name == "orders" && !drain.all));
  CHECK(parse({"drain", "--all"}).arguments.all);
  CHECK_FALSE(drain.yes);
  CHECK(parse({"drain", "--all", "--yes"}).arguments.yes);
  CHECK(parse({"advance", "orders", "--yes"}).arguments.yes);
  const Arguments look = parse({"decommission"}).arguments;
  CHECK(look.command == Command::decommission);
  CHECK_FALSE((look.yes || look.keep_history));
  const Arguments retire = parse({"decommission", "--yes", "--keep-history"}).arguments;
  CHECK((retire.yes && retire.keep_history));
}

TEST_CASE("WhatLooksAgainTakesAnIntervalAndACount", "[client]") {
  const Arguments stat = parse({"stat"}).arguments;
  CHECK((stat.command == Command::stat && stat.interval_ms == 1'000 && stat.samples == 0));
  const Arguments often = parse({"stat", "-i", "0.25", "-n", "12"}).arguments;
  CHECK((often.interval_ms == 250 && often.samples == 12));
  const Arguments pings = parse({"latency"}).arguments;
  CHECK((pings.command == Command::latency && pings.interval_ms == 1 && pings.samples == 1'000));
  CHECK(parse({"latency", "-i", "2"}).arguments.interval_ms == 2'000);
  const Arguments watch = parse({"watch", "-n", "5", "orders", "bills", "-i", "2"}).arguments;
  CHECK((watch.command == Command::watch && watch.samples == 5 && watch.interval_ms == 2'000));
  CHECK(watch.names == std::vector<std::string>{"orders", "bills"});
  CHECK(parse({"watch"}).exit_code == kExitUsage);
  std::vector<const char*> many(102, "orders");
  many.front() = "watch";
  CHECK(parse(many).exit_code == kExitUsage);
  many.pop_back();
  CHECK(parse(many).arguments.names.size() == 100);
  const Arguments top = parse({"top", "--rows", "7"}).arguments;
  CHECK((top.command == Command::top && top.rows == 7));
  CHECK_FALSE(parse({"health"}).arguments.live);
  CHECK_FALSE(parse({"health", "--ready"}).arguments.live);
  CHECK(parse({"health", "--live"}).arguments.live);
  const Arguments doctor = parse({"doctor", "--state-dir", "/s", "--witness-dir", "/w"}).arguments;
  CHECK((doctor.command == Command::doctor && doctor.state_dir == "/s" &&
         doctor.witness_dir == "/w"));
  for (const Command command : {Command::stat, Command::top, Command::latency})
    CHECK(takes_samples(command));
  CHECK_FALSE(takes_samples(Command::next));
}

TEST_CASE("HelpIsGroupedAndHasExamples", "[client]") {
  const std::string help = parse({"--help"}).text;
  for (const char* group : {"Taking IDs:", "Querying:", "Watching:", "Administering:", "Examples:"})
    CHECK_THAT(help, Catch::Contains(group));
}

TEST_CASE("WrongArgumentsAreAUsageErrorThatSaysWhich", "[client]") {
  for (const auto& words : {std::vector<const char*>{},
                            {"frobnicate"},
                            {"next"},
                            {"range", "a"},
                            {"next", "a", "-n", "0"},
                            {"next", "a", "-n", "-5"},
                            {"next", "a", "-n", "x"},
                            {"range", "a", "0"},
                            {"range", "a", "10000001"},
                            {"list", "-o", "xml"},
                            {"ping", "--timeout", "0"},
                            {"ping", "--timeout", "soon"},
                            {"next", "a", "b"},
                            {"explain", "a"},
                            {"gaps", "a", "-n", "1001"},
                            {"gaps", "a", "--after", "-1"},
                            {"audit"},
                            {"advance"},
                            {"advance", "--all"},
                            {"advance", "a", "--store", "main"},
                            {"advance", "a", "--all", "--store", "main"},
                            {"advance", "a", "--resume"},
                            {"advance", "--all", "--store", "main", "--to", "5"},
                            {"drain"},
                            {"drain", "a", "--all"},
                            {"decommission", "orders"},
                            {"advance", "a", "--to", "9223372036854775808"},
                            {"health", "--live", "--ready"},
                            {"stat", "-i", "0"},
                            {"stat", "-i", "3601"},
                            {"stat", "-n", "0"},
                            {"top", "--rows", "1001"},
                            {"stat", "-i", "nan"},
                            {"ping", "--timeout", "nan"},
                            {"top", "orders"},
                            {"latency", "-n", "1000001"},
                            {"ping", "--frobnicate"}}) {
    const Parsed parsed = parse(words);
    CHECK_FALSE(parsed.runs);
    CHECK(parsed.exit_code == kExitUsage);
    CHECK(parsed.text.size() > 10);
  }
}

TEST_CASE("AnOptionThatIsGivenTwiceIsAUsageError", "[client]") {
  for (const auto& words : {std::vector<const char*>{"--timeout", "1", "--timeout", "2", "status"},
                            {"--socket", "/a", "--socket", "/b", "status"},
                            {"-o", "json", "-o", "text", "status"},
                            {"next", "orders", "-n", "1", "-n", "2"},
                            {"advance", "orders", "--to", "1", "--to", "2", "--yes"},
                            {"drain", "orders", "--yes", "--timeout", "1", "--timeout", "2"},
                            {"next", "orders", "bills"}}) {
    const Parsed parsed = parse(words);
    INFO(words[0] << " " << words[1]);
    CHECK_FALSE(parsed.runs);
    CHECK(parsed.exit_code == kExitUsage);
  }
}

TEST_CASE("VersionAndHelpArePrintedWithSuccess", "[client]") {
  const Parsed version = parse({"--version"});
  CHECK_FALSE(version.runs);
  CHECK(version.exit_code == kExitOk);
  CHECK(version.text == "seqctl 0.1.0\n");
  const Parsed help = parse({"--help"});
  CHECK(help.exit_code == kExitOk);
  for (const char* word : {"next", "range", "peek", "list", "status", "ping", "reload", "wait",
                           "--socket", "--timeout", "69 no daemon"}) {
    CHECK_THAT(help.text, Catch::Contains(word));
  }
}

TEST_CASE("ResultCodesBecomeTheDocumentedExitCodes", "[client]") {
  CHECK(exit_code(SEQD_OK) == 0);
  CHECK(exit_code(SEQD_E_NO_SEQUENCE) == 1);
  CHECK(exit_code(SEQD_E_CONFIG) == 1);
  CHECK(exit_code(SEQD_E_PROTOCOL) == 1);
  CHECK(exit_code(SEQD_E_ARGUMENT) == 2);
  CHECK(exit_code(SEQD_E_CONNECT) == 69);
  for (const int code :
       std::initializer_list<int>{SEQD_E_BUSY, SEQD_E_UNAVAILABLE, SEQD_E_STOPPING, SEQD_E_TIMEOUT})
    CHECK(exit_code(code) == 75);
}

}  // namespace seqd::seqctl
