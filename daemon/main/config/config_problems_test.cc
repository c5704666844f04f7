// Every way to get seqd.toml wrong that we thought of, with the exact words a person reads. They
// are part of the interface: they must say where, what was found and what is allowed.
#include "daemon/main/config/config_problems.h"
#include "daemon/main/config/config.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace seqd {
namespace {

struct BadConfiguration {
  const char* name;
  std::string text;
  std::string problems;
};

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<BadConfiguration>& bad_configurations() {
  static const std::vector<BadConfiguration> table = {
      {"MissingEquals", "daemon\n",
       "f:1: not TOML: Error while parsing key-value pair: expected '=', saw '\\n'"},
      {"UnclosedString", "[daemon]\nsocket = \"/x\n", "f:2: a string without its closing quote"},
      {"UnquotedText", "[daemon]\nsocket = /run/x\n",
       "f:2: not TOML: Error while parsing value: could not determine value type"},
      {"SameKeyTwice", "[limits]\nmax_count = 5\nmax_count = 6\n",
       "f:3: not TOML: Error while parsing key-value pair: cannot redefine existing integer "
       "'max_count'"},
      {"SameTableTwice", "[limits]\n[limits]\n", "f:2: the table [limits] stands above already"},
      {"SameTableTwiceInQuotes", "[sequence.\"orders\"]\nstart = 1\n\n [sequence.orders] # again\n",
       "f:4: the table [sequence.orders] # again stands above already"},
      {"UnquotedSecretIsNotRepeated",
       "[store.m]\ntype = \"mongodb\"\nuri = mongodb://user:hunter2@db/\n",
       "f:3: not TOML: Error while parsing value: could not determine value type"},
      {"UnknownTable", "[deamon]\nsocket = \"/x\"\n",
       "f:1: deamon: there is no such table; did you mean \"daemon\"?"},
      {"UnknownTableFarFromAny", "[x]\n",
       "f:1: x: there is no such table; there are: daemon, limits, store, sequence_defaults, "
       "sequence"},
      {"UnknownTopLevelKey", "color = 1\n",
       "f:1: color: there is no such option; there are: daemon, limits, store, sequence_defaults, "
       "sequence"},
      {"OptionOfATableAtTopLevel", "max_request_size = \"1KiB\"\n",
       "f:1: max_request_size: there is no such option; it belongs in [limits]"},
      {"TableIsANumber", "limits = 4\n",
       "f:1: limits: found an integer; allowed: a table [limits]"},
      {"StoreIsText", "store = \"sqlite\"\n", "f:1: store: found text; allowed: a table [store]"},
      {"SequenceIsAnArrayOfTables", "[[sequence]]\nstore = \"default\"\n",
       "f:1: sequence: found an array; allowed: a table [sequence]"},
      {"MisspelledOption", "[limits]\nmax_coun = 5\n",
       "f:2: limits.max_coun: there is no such option; did you mean \"max_count\"?"},
      {"OptionOfAnotherTable", "[daemon]\nmax_connections = 5\n",
       "f:2: daemon.max_connections: there is no such option; it belongs in [limits]"},
      {"OptionOfNoTable", "[daemon]\nzzzzzzzzzzzz = 5\n",
       "f:2: daemon.zzzzzzzzzzzz: there is no such option; there are: socket, socket_mode, "
       "admins, state_dir, witness_dir, after_power_loss, state_log_size, history, "
       "history_callers, history_max_size, history_max_age, stop_timeout, busy_poll, "
       "store_poll_interval, metrics_socket, metrics_socket_mode, metrics_address, "
       "metrics_sequences, allow_unlisted, default_store"},
      {"MetricsForOtherHosts", "[daemon]\nmetrics_address = \"0.0.0.0:9464\"\n",
       "f:2: daemon.metrics_address: found \"0.0.0.0:9464\", which other hosts may reach; "
       "allowed: an address of loopback with a port, as \"127.0.0.1:9464\" or \"[::1]:9464\""},
      {"ControlCharactersInAKeyAreEscaped", "[daemon]\n\"so\\u001bcket\\n\" = 5\n",
       "f:2: daemon.so\\x1bcket\\n: there is no such option; did you mean \"socket\"?"},
      {"IntegerBelow", "[limits]\nmax_count = 0\n",
       "f:2: limits.max_count: found 0; allowed: an integer from 1 to 10000000"},
      {"IntegerAbove", "[limits]\nmax_count = 10000001\n",
       "f:2: limits.max_count: found 10000001; allowed: an integer from 1 to 10000000"},
      {"IntegerNegative", "[limits]\nmax_count = -1\n",
       "f:2: limits.max_count: found -1; allowed: an integer from 1 to 10000000"},
      {"IntegerInQuotes", "[limits]\nmax_count = \"8\"\n",
       "f:2: limits.max_count: found \"8\" in quotes; allowed: an integer from 1 to 10000000"},
      {"IntegerIsAFraction", "[limits]\nmax_count = 8.5\n",
       "f:2: limits.max_count: found a fraction; allowed: an integer from 1 to 10000000"},
      {"IntegerIsBoolean", "[limits]\nmax_count = true\n",
       "f:2: limits.max_count: found true; allowed: an integer from 1 to 10000000"},
      {"IntegerIsArray", "[limits]\nmax_count = [8]\n",
       "f:2: limits.max_count: found an array; allowed: an integer from 1 to 10000000"},
      {"IntegerIsTable", "[limits.max_count]\nx = 1\n",
       "f:1: limits.max_count: found a table; allowed: an integer from 1 to 10000000"},
      {"IntegerIsDate", "[limits]\nmax_count = 2026-01-01\n",
       "f:2: limits.max_count: found a date or time; allowed: an integer from 1 to 10000000"},
      {"IntegerTooLongForTheParser", "[sequence.a]\nmax_value = 9223372036854775808\n",
       "f:2: not TOML: Error while parsing decimal integer: '9223372036854775808' is not "
       "representable in 64 bits"},
      {"DurationWithoutUnit", "[limits]\nframe_timeout = 5\n",
       "f:2: limits.frame_timeout: found 5; allowed: a duration from \"100ms\" to \"1h\" (units "
       "ms, s, min, h, d)"},
      {"DurationWithoutUnitInQuotes", "[limits]\nframe_timeout = \"5\"\n",
       "f:2: limits.frame_timeout: found \"5\"; allowed: a duration from \"100ms\" to \"1h\" "
       "(units ms, s, min, h, d)"},
      {"DurationOfUnknownUnit", "[limits]\nframe_timeout = \"5m\"\n",
       "f:2: limits.frame_timeout: found \"5m\"; allowed: a duration from \"100ms\" to \"1h\" "
       "(units ms, s, min, h, d)"},
      {"DurationWithSpace", "[limits]\nframe_timeout = \"5 s\"\n",
       "f:2: limits.frame_timeout: found \"5 s\"; allowed: a duration from \"100ms\" to \"1h\" "
       "(units ms, s, min, h, d)"},
      {"DurationNegative", "[limits]\nframe_timeout = \"-5s\"\n",
       "f:2: limits.frame_timeout: found \"-5s\"; allowed: a duration from \"100ms\" to \"1h\" "
       "(units ms, s, min, h, d)"},
      {"DurationOverflows", "[limits]\nidle_timeout = \"99999999999999999d\"\n",
       "f:2: limits.idle_timeout: found \"99999999999999999d\"; allowed: a duration from \"0s\" to "
       "\"1d\" (units ms, s, min, h, d)"},
      {"DurationBelow", "[limits]\nframe_timeout = \"99ms\"\n",
       "f:2: limits.frame_timeout: found \"99ms\"; allowed: a duration from \"100ms\" to \"1h\" "
       "(units ms, s, min, h, d)"},
      {"DurationAbove", "[limits]\nframe_timeout = \"61min\"\n",
       "f:2: limits.frame_timeout: found \"61min\"; allowed: a duration from \"100ms\" to \"1h\" "
       "(units ms, s, min, h, d)"},
      {"DurationZeroNotAllowed", "[limits]\nframe_timeout = 0\n",
       "f:2: limits.frame_timeout: found 0; allowed: a duration from \"100ms\" to \"1h\" (units "
       "ms, s, min, h, d)"},
      {"DurationEmpty", "[limits]\nframe_timeout = \"\"\n",
       "f:2: limits.frame_timeout: found \"\"; allowed: a duration from \"100ms\" to \"1h\" (units "
       "ms, s, min, h, d)"},
      {"DurationIsAFraction", "[limits]\nframe_timeout = \"1.5s\"\n",
       "f:2: limits.frame_timeout: found \"1.5s\"; allowed: a duration from \"100ms\" to \"1h\" "
       "(units ms, s, min, h, d)"},
      {"SizeOfThousands", "[limits]\nmax_request_size = \"64KB\"\n",
       "f:2: limits.max_request_size: found \"64KB\"; allowed: a size from \"1KiB\" to \"16MiB\" "
       "(units "
       "B, KiB, MiB, GiB)"},
      {"SizeBelow", "[limits]\nmax_request_size = \"1023B\"\n",
       "f:2: limits.max_request_size: found \"1023B\"; allowed: a size from \"1KiB\" to \"16MiB\" "
       "(units "
       "B, KiB, MiB, GiB)"},
      {"SizeAbove", "[limits]\nmax_request_size = 16777217\n",
       "f:2: limits.max_request_size: found 16777217; allowed: a size from \"1KiB\" to \"16MiB\" "
       "(units "
       "B, KiB, MiB, GiB)"},
      {"SizeOverflows", "[limits]\nmax_reply_backlog = \"9223372036854775807GiB\"\n",
       "f:2: limits.max_reply_backlog: found \"9223372036854775807GiB\"; allowed: a size from "
       "\"64KiB\" "
       "to \"64MiB\" (units B, KiB, MiB, GiB)"},
      {"BooleanInQuotes", "[daemon]\nallow_unlisted = \"true\"\n",
       "f:2: daemon.allow_unlisted: found \"true\" in quotes; allowed: true or false"},
      {"BooleanIsNumber", "[daemon]\nallow_unlisted = 1\n",
       "f:2: daemon.allow_unlisted: found 1; allowed: true or false"},
      {"ChoiceUnknown", "[daemon]\nafter_power_loss = \"keep\"\n",
       "f:2: daemon.after_power_loss: found \"keep\"; allowed: \"forfeit\" or \"resume\""},
      {"ChoiceInOtherCase", "[store.a]\ntype = \"SQLite\"\n",
       "f:2: store.a.type: found \"SQLite\"; allowed: \"sqlite\" or \"mongodb\" or \"dynamodb\""},
      {"ChoiceIsNumber", "[sequence.a]\nmeaning = 1\n",
       "f:2: sequence.\"a\".meaning: found 1; allowed: \"unset\" or \"last\" or \"next\""},
      {"ModeOfLetters", "[daemon]\nsocket_mode = \"rw-rw----\"\n",
       "f:2: daemon.socket_mode: found \"rw-rw----\"; allowed: octal permissions from \"0000\" to "
       "\"0777\""},
      {"ModeNotOctal", "[daemon]\nsocket_mode = \"0668\"\n",
       "f:2: daemon.socket_mode: found \"0668\"; allowed: octal permissions from \"0000\" to "
       "\"0777\""},
      {"ModeWithSetuid", "[daemon]\nsocket_mode = \"4755\"\n",
       "f:2: daemon.socket_mode: found \"4755\"; allowed: octal permissions from \"0000\" to "
       "\"0777\""},
      {"ModeAsNumber", "[daemon]\nsocket_mode = 0o660\n",
       "f:2: daemon.socket_mode: found 432; allowed: octal permissions from \"0000\" to \"0777\""},
      {"ModeNegative", "[daemon]\nsocket_mode = \"-1\"\n",
       "f:2: daemon.socket_mode: found \"-1\"; allowed: octal permissions from \"0000\" to "
       "\"0777\""},
      {"PathRelative", "[daemon]\nsocket = \"seqd.sock\"\n",
       "f:2: daemon.socket: found \"seqd.sock\"; allowed: an absolute path of 1 to 107 bytes"},
      {"PathEmpty", "[daemon]\nstate_dir = \"\"\n",
       "f:2: daemon.state_dir: found text of 0 bytes; allowed: an absolute path of 1 to 4000 "
       "bytes"},
      {"PathTooLongForASocket",
       std::string("[daemon]\nsocket = \"/") + std::string(107, 'x') + "\"\n",
       "f:2: daemon.socket: found text of 108 bytes; allowed: an absolute path of 1 to 107 bytes"},
      {"PathWithNewline", "[daemon]\nsocket = \"/run\\n/x\"\n",
       "f:2: daemon.socket: found text with a control character; allowed: an absolute path of 1 to "
       "107 bytes"},
      {"PathWithZeroByte", "[daemon]\nsocket = \"/run\\u0000/x\"\n",
       "f:2: daemon.socket: found text with a control character; allowed: an absolute path of 1 to "
       "107 bytes"},
      {"WitnessInsideState",
       "[daemon]\nstate_dir = \"/var/lib/seqd\"\nwitness_dir = \"/var/lib/seqd/witness\"\n",
       "f:3: daemon.witness_dir: found \"/var/lib/seqd/witness\"; allowed: a directory apart from "
       "state_dir (line 2): a copy of state_dir must not include its witness, and a reboot must "
       "clear only the witness"},
      {"WitnessIsState", "[daemon]\nwitness_dir = \"/var/lib/seqd/\"\n",
       "f:2: daemon.witness_dir: found \"/var/lib/seqd/\"; allowed: a directory apart from "
       "state_dir (not written in this table): a copy of state_dir must not include its witness, "
       "and a reboot must clear only the witness"},
      {"StateInsideWitness",
       "[daemon]\nstate_dir = \"/run/seqd/state\"\nwitness_dir = \"/run/seqd\"\n",
       "f:3: daemon.witness_dir: found \"/run/seqd\"; allowed: a directory apart from state_dir "
       "(line 2): a copy of state_dir must not include its witness, and a reboot must clear only "
       "the witness"},
      {"DefaultStoreMissing", "[daemon]\ndefault_store = \"main\"\n",
       "f:2: daemon.default_store: there is no [store.main]; allowed: one of default"},
      {"NoDefaultAmongSeveralStores", "[store.a]\npath = \"/a\"\n[store.b]\npath = \"/b\"\n",
       "f:1: daemon.default_store: not given, and no store is called \"default\"; allowed: one of "
       "a, b"},
      {"MoreSequencesThanTheLogHolds",
       "[daemon]\nstate_log_size = \"1MiB\"\n[limits]\nmax_sequences = 1025\n",
       "f:4: limits.max_sequences: found 1025, which needs a state_log_size of 1025KiB; "
       "daemon.state_log_size "
       "is 1024KiB (line 2), enough for 1024"},
      {"MoreSequencesThanTheDefaultLogHolds", "[limits]\nmax_sequences = 100000\n",
       "f:2: limits.max_sequences: found 100000, which needs a state_log_size of 100000KiB; "
       "daemon.state_log_size is 16384KiB (the default), enough for 16384"},
      {"MoreClientsThanTheLogHolds", "[limits]\nmax_retry_clients = 30000\n",
       "f:2: limits.max_retry_clients: found 30000, which needs a state_log_size of 30000KiB; "
       "daemon.state_log_size is 16384KiB (the default), enough for 16384"},
      {"StoreNameWithDot", "[store.\"a.b\"]\n",
       "f:1: store.a.b: allowed in the name of a store: 1 to 64 of A-Z a-z 0-9 _ -"},
      {"StoreNameEmpty", "[store.\"\"]\n",
       "f:1: store.: allowed in the name of a store: 1 to 64 of A-Z a-z 0-9 _ -"},
      {"StoreIsNumber", "[store]\nmain = 1\n",
       "f:2: store.main: found an integer; allowed: a table [store.NAME]"},
      {"SqliteWithUri", "[store.a]\nuri = \"mongodb://h/\"\n",
       "f:2: store.a.uri: is for stores of type \"mongodb\""},
      {"MongoWithPath", "[store.a]\ntype = \"mongodb\"\nuri = \"mongodb://h/\"\npath = \"/x\"\n",
       "f:4: store.a.path: is for stores of type \"sqlite\""},
      {"MongoWithTwoSources",
       "[store.a]\ntype = \"mongodb\"\nuri = \"mongodb://h/\"\nuri_file = \"/x\"\n",
       "f:4: store.a: found uri (line 3) and uri_file (line 4); allowed: one of them"},
      {"UriOfAnotherKind", "[store.a]\ntype = \"mongodb\"\nuri = \"http://user:hunter2@h/\"\n",
       "f:3: store.a.uri: the URI does not begin with mongodb:// or mongodb+srv://; allowed: "
       "mongodb://HOST[:PORT][,...][/?OPTIONS]"},
      {"UriWithSpace", "[store.a]\ntype = \"mongodb\"\nuri = \"mongodb://user:hunter2@h/ x\"\n",
       "f:3: store.a.uri: the URI holds a space; allowed: mongodb://HOST[:PORT][,...][/?OPTIONS]"},
      {"UriWithAnUnencodedPassword",
       "[store.a]\ntype = \"mongodb\"\nuri = \"mongodb://user:hunter2@x@h/\"\n",
       "f:3: store.a.uri: user name and password must be percent-encoded: @ is %40, : is %3A, / is "
       "%2F, % is %25; allowed: mongodb://HOST[:PORT][,...][/?OPTIONS]"},
      {"UriWithASlashInThePassword",
       "[store.a]\ntype = \"mongodb\"\nuri = \"mongodb://user:hunter2/x@h/?w=majority\"\n",
       "f:3: store.a.uri: user name and password must be percent-encoded: @ is %40, : is %3A, / is "
       "%2F, % is %25; allowed: mongodb://HOST[:PORT][,...][/?OPTIONS]"},
      {"UriTooLong",
       std::string("[store.a]\ntype = \"mongodb\"\nuri = \"mongodb://") + std::string(4090, 'x') +
           "\"\n",
       "f:3: store.a.uri: found text of 4100 bytes; allowed: text of 1 to 4096 bytes without "
       "control characters"},
      {"UriFileMissing", "[store.a]\ntype = \"mongodb\"\nuri_file = \"/nonexistent/uri\"\n",
       "f:3: store.a.uri_file: /nonexistent/uri cannot be opened: No such file or directory"},
      {"UriFileIsDevice", "[store.a]\ntype = \"mongodb\"\nuri_file = \"/dev/zero\"\n",
       "f:3: store.a.uri_file: /dev/zero is not a regular file"},
      {"CredentialNotPassed", "[store.a]\ntype = \"mongodb\"\n",
       "f:1: store.a.uri_file: the credential \"mongodb-uri\" is not there: "
       "$CREDENTIALS_DIRECTORY is not set; start seqd by its unit with LoadCredential=, or name a "
       "file instead"},
      {"SecretInPlaceOfItsFileIsNotRepeated",
       "[store.a]\ntype = \"mongodb\"\nuri_file = \"mongodb://user:hunter2@db/\"\n",
       "f:3: store.a.uri_file: found text that is neither; allowed: an absolute path of 1 to 4000 "
       "bytes, or the name of a systemd credential"},
      {"KeyInPlaceOfItsFileIsNotRepeated",
       "[sequence.a]\nformat = \"{number:6,scramble}\"\nscramble_key_file = \"hunter2\"\n",
       "f:3: sequence.\"a\".scramble_key_file: the credential is not there: "
       "$CREDENTIALS_DIRECTORY is not set; start seqd by its unit with LoadCredential=, or name a "
       "file instead"},
      {"TwoStoresOnOneFile", "[store.default]\n[store.b]\n",
       "f:1: store.default.path: \"/var/lib/seqd/sequences.db\" is the file of store.b too; "
       "allowed: a file of its own for every store"},
      {"SequenceNameWithSpace", "[sequence.\"a b\"]\n",
       "f:1: sequence.\"a b\": allowed in a name: A-Z a-z 0-9 . _ : - and, in a pattern, * and ?"},
      {"SequenceNameEmpty", "[sequence.\"\"]\n",
       "f:1: sequence.\"\": allowed in a name: A-Z a-z 0-9 . _ : - and, in a pattern, * and ?"},
      {"SequenceNameUnquotedDot", "[sequence.a.b]\nlease_min = 1\n",
       "f:1: sequence.\"a\": a name with a dot must be quoted: [sequence.\"a.b\"]"},
      {"SequenceNameTooLong", std::string("[sequence.") + std::string(129, 'n') + "]\n",
       std::string("f:1: sequence.\"") + std::string(129, 'n') +
           "\": the name is longer than 128 bytes"},
      {"SequenceIsNumber", "[sequence]\norders = 1\n",
       "f:2: sequence.\"orders\": found an integer; allowed: a table [sequence.\"NAME\"]"},
      {"LeaseMinAboveLeaseMax", "[sequence.a]\nlease_min = 11\nlease_max = 10\n",
       "f:2: sequence.\"a\".lease_min: found 11; must not be above lease_max = 10 (line 3)"},
      {"LeaseMinAboveTheInheritedLeaseMax",
       "[sequence_defaults]\nlease_max = 100\n[sequence.a]\nlease_min = 101\n",
       "f:4: sequence.\"a\".lease_min: found 101; must not be above lease_max = 100 (not written "
       "in "
       "this table)"},
      {"LeaseMaxAboveGapBudget", "[sequence.a]\nlease_max = 11\nmax_available = 10\n",
       "f:2: sequence.\"a\".lease_max: found 11; must not be above max_available = 10 (line 3)"},
      {"ReserveAheadAboveGapBudget", "[sequence.a]\nmax_available = 10\nmax_unsynced = 11\n",
       "f:3: sequence.\"a\".max_unsynced: found 11; must not be above max_available = 10 (line 2)"},
      {"DefaultsContradictThemselves", "[sequence_defaults]\nlease_min = 11\nlease_max = 10\n",
       "f:2: sequence_defaults.lease_min: found 11; must not be above lease_max = 10 (line 3)"},
      {"FirstIdAboveMaxValue", "[sequence.a]\nfirst_id = 11\nmax_value = 10\n",
       "f:2: sequence.\"a\".first_id: first_id = 11 (line 2) must not be above max_value = 10 "
       "(line 3)"},
      {"FirstIdAboveTheDefaultOfMaxValue", "[sequence.a]\nfirst_id = 9007199254740992\n",
       "f:2: sequence.\"a\".first_id: first_id = 9007199254740992 (line 2) must not be above "
       "max_value = 9007199254740991 (not written in this table)"},
      {"FirstIdZero", "[sequence.a]\nfirst_id = 0\n",
       "f:2: sequence.\"a\".first_id: found 0; allowed: an integer from 1 to 9223372036854775806"},
      {"KeyFieldIsCounterField", "[sequence.a]\nkey_field = \"n\"\ncounter_field = \"n\"\n",
       "f:3: sequence.\"a\": key_field and counter_field are both \"n\"; allowed: two different "
       "fields"},
      {"CounterFieldWithDollar", "[sequence.a]\ncounter_field = \"$inc\"\n",
       "f:2: sequence.\"a\".counter_field: found \"$inc\"; allowed: the name of a field, without "
       "\".\" and not beginning with \"$\""},
      {"CounterFieldWithDot", "[sequence.a]\ncounter_field = \"a.b\"\n",
       "f:2: sequence.\"a\".counter_field: found \"a.b\"; allowed: the name of a field, without "
       "\".\" and not beginning with \"$\""},
      {"SequenceInUnknownStore", "[sequence.a]\nstore = \"main\"\n",
       "f:2: sequence.\"a\".store: there is no [store.main]; allowed: one of default"},
      {"KeyForAPattern", "[sequence.\"a*\"]\nkey = \"x\"\n",
       "f:2: sequence.\"a*\".key: would bind many sequences to one counter; allowed: in the table "
       "of one sequence"},
      {"KeyForAll", "[sequence_defaults]\nkey = \"x\"\n",
       "f:2: sequence_defaults.key: would bind many sequences to one counter; allowed: in the "
       "table of one sequence"},
      {"PatternsTie", "[sequence.\"a*c\"]\n[sequence.\"ab*\"]\n",
       "f:2: sequence.\"ab*\": is as long as the pattern \"a*c\" (line 1), and some names match "
       "both; allowed: patterns of different length, the longer one is taken"},
      {"PatternsWithQuestionMarkTie", "[sequence.\"a?\"]\n[sequence.\"?b\"]\n",
       "f:2: sequence.\"?b\": is as long as the pattern \"a?\" (line 1), and some names match "
       "both; allowed: patterns of different length, the longer one is taken"},
      {"KeyOfTooManyParts", "a.b.c.d.e.f.g.h.i = 1\n", "f:1: a key has more than 8 parts"},
      {"ArraysTooDeep", std::string("a = ") + std::string(40, '[') + std::string(40, ']') + "\n",
       "f:1: not TOML: Error while parsing value: exceeded maximum nested value depth of 16"},
      {"SeveralProblemsInTheOrderOfTheFile",
       "[limits]\nmax_count = 0\nmax_sequence = 4\n[daemon]\nsocket = 5\n",
       "f:2: limits.max_count: found 0; allowed: an integer from 1 to 10000000\nf:3: "
       "limits.max_sequence: there is no such option; did you mean \"max_sequences\"?\nf:5: "
       "daemon.socket: found 5; allowed: "
       "an absolute path of 1 to 107 bytes"},
  };
  return table;
}

TEST_CASE("EveryBadConfigurationIsRefusedWithPlaceFindingAndWhatIsAllowed") {
  unsetenv("CREDENTIALS_DIRECTORY");
  REQUIRE(bad_configurations().size() >= 100);
  for (const BadConfiguration& bad : bad_configurations()) {
    INFO(bad.name << ":\n" << bad.text);
    const auto configuration = parse_configuration(bad.text, "f", {});
    CHECK(configuration.status().code() == ErrorCode::CONFIG);
    CHECK(configuration.status().text() == bad.problems);
    CHECK(configuration.status().text().find("hunter2") == std::string::npos);
  }
}

TEST_CASE("MoreProblemsThanAnybodyReadsAreCounted") {
  std::string text = "[daemon]\n";
  for (int i = 0; i < 70; ++i) text += "zz" + std::to_string(i) + " = 1\n";
  const std::string problems = parse_configuration(text, "f", {}).status().text();
  CHECK(std::count(problems.begin(), problems.end(), '\n') == 50);
  CHECK(problems.ends_with("\nand 20 more problems"));
}

TEST_CASE("ANearWordIsSuggestedAndAFarOneIsNot") {
  const std::vector<std::string_view> words = {"max_request_size", "max_count", "uri"};
  CHECK(nearest_word("max_requset_size", words) == "max_request_size");
  CHECK(nearest_word("maxcount", words) == "max_count");
  CHECK(nearest_word("url", words) == "uri");
  CHECK(nearest_word("x", words).empty());
  CHECK(nearest_word("", words).empty());
  CHECK(nearest_word(std::string(1000, 'm'), words).empty());
}

TEST_CASE("AProblemOfTheCommandLineSaysSo") {
  ConfigurationRequest request;
  request.socket = "relative";
  request.state_dir = "/state";
  request.witness_dir = "/state/witness";
  CHECK(parse_configuration("", "f", request).status().text() ==
        "command line: --socket: found \"relative\"; allowed: an absolute path of 1 to 107 "
        "bytes\ncommand line: daemon.witness_dir: found \"/state/witness\"; allowed: a directory "
        "apart from state_dir (command line): a copy of state_dir must not include its witness, "
        "and a reboot must clear only the witness");
}

}  // namespace
}  // namespace seqd
