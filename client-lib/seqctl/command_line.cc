#include "client-lib/seqctl/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "client-lib/seqctl/exit_codes.h"

namespace seqd::seqctl {
namespace {

constexpr double kLongestTimeout = 86'400;
constexpr std::int64_t kMostIds = 1'000'000'000;
constexpr std::int64_t kMostGaps = 1'000;

constexpr const char* kFooter =
    "\nExit codes: 0 done, 1 error of the daemon or its store, 2 wrong usage,\n"
    "3 an audit failed, 4 --yes is missing, 5 status found a stopped sequence\n"
    "or a store with an error, 69 no daemon answers, 75 try again (busy, store\n"
    "away, time-out), 130 interrupted. The socket is --socket, else\n"
    "$SEQD_SOCKET, else /run/seqd.sock.";

// Adds a command; the one that is given sets `chosen`.
CLI::App* add(CLI::App& app, Arguments& arguments, const char* word, const char* text,
              Command command) {
  CLI::App* added = app.add_subcommand(word, text);
  added->callback([&arguments, command] { arguments.command = command; });
  return added;
}

// CLI11 makes the nearest int64 of what is beyond all.
std::string check_id(const std::string& text) {
  std::int64_t id = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), id);
  if (end.ec == std::errc() && end.ptr == text.data() + text.size()) return {};
  return "\"" + text + "\" is no integer from -2^63 to 2^63-1";
}

// What is for the operator, and takes --yes.
void describe_housekeeping(CLI::App& app, Arguments& arguments) {
  CLI::App* decommission = add(app, arguments, "decommission",
                               "remove this daemon for good; without --yes, show what it would do",
                               Command::decommission);
  decommission->add_flag("--yes", arguments.yes, "do it");
  decommission->add_flag("--keep-history", arguments.keep_history, "leave history.db in place");
  CLI::App* purge =
      add(app, arguments, "purge",
          "remove the counters of periods that ended longer than `period_retention` ago; "
          "without --yes, list them",
          Command::purge);
  purge->add_option("NAME", arguments.name, "the sequence")->required();
  purge->add_flag("--yes", arguments.yes, "do it");
}

void describe_advance(CLI::App& advance, Arguments& arguments) {
  CLI::Option_group* which = advance.add_option_group("which");
  which->add_option("NAME", arguments.name, "the sequence");
  CLI::Option* all = which->add_flag(
      "--all", arguments.all,
      "every sequence of --store: after its database was put back from an older copy");
  which->require_option(1);
  CLI::Option* store =
      advance.add_option("--store", arguments.store, "the store of --all")->needs(all);
  all->needs(store);
  advance
      .add_flag("--resume", arguments.resume,
                "with --all: resume the sequences of a restored store; only after --all was done "
                "on every host")
      ->needs(all);
  advance.add_option("--to", arguments.id, "the next ID (default: above all this host leased)")
      ->check(check_id)
      ->excludes(all);
  advance
      .add_flag("--everywhere", arguments.everywhere,
                "withdraw what this and other hosts have available below it")
      ->excludes(all);
}

void describe_commands(CLI::App& app, Arguments& arguments) {
  const auto count_range = CLI::Range(std::int64_t{1}, kMostIds);
  CLI::App* next =
      add(app, arguments, "next", "take IDs and print them, one a line", Command::next);
  next->add_option("NAME", arguments.name, "the sequence")->required();
  next->add_option("-n,--count", arguments.count, "how many (default 1)")->check(count_range);
  next->add_flag("--text", arguments.as_text, "as text, written as the sequence's format says");
  CLI::App* parse = add(app, arguments, "parse",
                        "decode the text of an ID; fails if the text is not valid", Command::parse);
  parse->add_option("NAME", arguments.name, "the sequence")->required();
  parse->add_option("TEXT", arguments.text, "the text")->required();
  CLI::App* insert =
      add(app, arguments, "insert",
          "insert a document, a JSON object, and print the _id that it got", Command::insert);
  insert->add_option("NAME", arguments.name, "the sequence")->required();
  CLI::Option* document = insert->add_option("DOCUMENT", arguments.text,
                                             "the document (default: what is on standard input)");
  insert->add_option("--unique", arguments.unique,
                     "a field of the document that has a unique index: where there is a document "
                     "with its value, print the _id of that one");
  insert
      ->add_flag("--msgpack", arguments.message_pack,
                 "the document is MessagePack, on standard input")
      ->excludes(document);
  CLI::App* range = add(app, arguments, "range", "take COUNT IDs and print runs: first count step",
                        Command::range);
  range->add_option("NAME", arguments.name, "the sequence")->required();
  range->add_option("COUNT", arguments.count, "how many")->required()->check(count_range);
  CLI::App* peek =
      add(app, arguments, "peek", "show what would come next; takes nothing", Command::peek);
  peek->add_option("NAME", arguments.name, "the sequence")->required();
  add(app, arguments, "list", "show the sequences the daemon knows", Command::list);
  add(app, arguments, "status", "show the daemon's state on one screen", Command::status);
  add(app, arguments, "ping", "ask whether the daemon answers", Command::ping);
  add(app, arguments, "reload", "read the configuration again; fails when it is wrong",
      Command::reload);
  CLI::App* explain = add(app, arguments, "explain", "show who received an ID, or why it is a gap",
                          Command::explain);
  explain->add_option("NAME", arguments.name, "the sequence")->required();
  explain->add_option("ID", arguments.text, "the ID; what is no integer is a text of one")
      ->required();
  explain->add_flag("--text", arguments.as_text, "it is a text, though it is all digits");
  CLI::App* gaps =
      add(app, arguments, "gaps", "show the IDs that will never be issued, and why", Command::gaps);
  gaps->add_option("NAME", arguments.name, "the sequence")->required();
  gaps->add_option("-n,--count", arguments.gaps, "at most so many (default 100)")
      ->check(CLI::Range(std::int64_t{1}, kMostGaps));
  gaps->add_option("--after", arguments.after, "only those behind the gap of this number")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  CLI::App* audit =
      add(app, arguments, "audit",
          "prove that every leased ID is accounted for; fails when one is not", Command::audit);
  audit->add_option("NAME", arguments.name, "the sequence")->required();
  CLI::App* advance = add(app, arguments, "advance",
                          "raise the counter in the store, so that no lower ID is leased any more",
                          Command::advance);
  describe_advance(*advance, arguments);
  advance->add_flag("--yes", arguments.yes, "do it; without it, show what would be done");
  CLI::App* drain = add(
      app, arguments, "drain",
      "release the available IDs: return them, or write them off, as `reuse` says", Command::drain);
  CLI::Option_group* which = drain->add_option_group("which");
  which->add_option("NAME", arguments.name, "the sequence");
  which->add_flag("--all", arguments.all, "every sequence of the daemon");
  which->require_option(1);
  drain->add_flag("--yes", arguments.yes,
                  "do it; without it, show what would be lost (nothing is with `reuse` parked)");
  describe_housekeeping(app, arguments);
  add(app, arguments, "wait", "wait until the daemon answers, at most --timeout", Command::wait);
}

// The word that was meant as a command; `otherwise` when there is none.
std::string unknown_command(const CLI::App& app, const std::string& otherwise) {
  for (const std::string& word : app.remaining()) {
    if (word.empty() || word.front() == '-') continue;
    return "seqctl: \"" + word + "\" is not a command; seqctl --help lists the commands\n";
  }
  return otherwise;
}

}  // namespace

Parsed parse_command_line(int argc, const char* const* argv, const char* version) {
  Parsed parsed;
  Arguments& arguments = parsed.arguments;
  CLI::App app{"Takes IDs from the seqd daemon of this host and queries its status.", "seqctl"};
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kFooter);
  double timeout_s = 5;
  app.add_option("-s,--socket", arguments.socket, "the daemon's socket");
  const CLI::Option* timeout =
      app.add_option("-t,--timeout", timeout_s, "seconds to wait for an answer (default 5)")
          ->check(CLI::Range(0.001, kLongestTimeout));
  std::string format = "text";
  app.add_option("-o,--output", format, "text or json (default text)")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("FORMAT");
  app.set_version_flag("--version", std::string("seqctl ") + version);
  describe_commands(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports by exceptions, --help and --version too; they end here.
    std::ostringstream out;
    std::ostringstream errors;
    const bool wrong = app.exit(error, out, errors) != 0;
    parsed.text = wrong ? errors.str() : out.str();
    if (wrong && app.get_subcommands().empty()) parsed.text = unknown_command(app, parsed.text);
    parsed.exit_code = wrong ? kExitUsage : kExitOk;
    return parsed;
  }
  if (arguments.command == Command::explain && !arguments.as_text &&
      check_id(arguments.text).empty()) {
    std::int64_t id = 0;
    std::from_chars(arguments.text.data(), arguments.text.data() + arguments.text.size(), id);
    arguments.id = id;
  }
  arguments.format = format == "json" ? Format::json : Format::text;
  arguments.timeout_ms = std::llround(timeout_s * 1'000);
  arguments.timeout_is_given = timeout->count() > 0;
  parsed.runs = true;
  return parsed;
}

}  // namespace seqd::seqctl
