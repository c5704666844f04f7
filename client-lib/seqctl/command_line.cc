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

constexpr double kShortestInterval = 0.001;
constexpr double kLongestInterval = 3'600;
constexpr std::int64_t kMostLooks = 1'000'000;
constexpr std::int64_t kMostRows = 1'000;
constexpr int kMostWatched = 100;
constexpr std::int64_t kPings = 1'000;

constexpr const char* kTaking = "Taking IDs";
constexpr const char* kLooking = "Looking";
constexpr const char* kWatching = "Watching";
constexpr const char* kAdministering = "Administering";

constexpr const char* kFooter =
    "\nExamples:\n"
    "  seqctl next orders               take an ID\n"
    "  seqctl explain orders 4711       who received it, or why it is a gap\n"
    "  seqctl top                       the busiest sequences, again and again\n"
    "  seqctl stat -i 5 -n 12           a minute in lines of five seconds\n"
    "  seqctl watch orders invoices     a line whenever one of them changes\n"
    "  seqctl health --ready            for a probe; seqctl doctor says what to do\n"
    "  seqctl drain orders              what --yes would do\n"
    "\nExit codes: 0 done, 1 error of the daemon or its store, or doctor found\n"
    "something bad, 2 wrong usage, 3 an audit failed, 4 --yes is missing,\n"
    "5 status or health found a stopped sequence or a store with an error,\n"
    "69 no daemon answers, 75 try again (busy, store away, time-out),\n"
    "130 interrupted.\n"
    "The socket is --socket, else $SEQD_SOCKET, else /run/seqd.sock.";

// Adds a command; the one that is given sets `chosen`.
CLI::App* add(CLI::App& app, Arguments& arguments, const char* word, const char* text,
              Command command, const char* group = kLooking) {
  CLI::App* added = app.add_subcommand(word, text)->group(group);
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
                               Command::decommission, kAdministering);
  decommission->add_flag("--yes", arguments.yes, "do it");
  decommission->add_flag("--keep-history", arguments.keep_history, "leave history.db in place");
  CLI::App* purge =
      add(app, arguments, "purge",
          "remove the counters of periods that ended longer than `period_retention` ago; "
          "without --yes, list them",
          Command::purge, kAdministering);
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

// CLI11 finds it within every range.
std::string refuse_nan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? "Value " + text + " is not a number" : "";
}

// Seconds, as `milliseconds` when they are given.
CLI::Option* add_seconds(CLI::App& command, const char* names, std::int64_t& milliseconds,
                         const char* text, double least, double most) {
  return command
      .add_option_function<double>(
          names, [&milliseconds](double seconds) { milliseconds = std::llround(seconds * 1'000); },
          text)
      ->check(CLI::Range(least, most))
      ->check(refuse_nan);
}

void describe_config(CLI::App& app, Arguments& arguments) {
  CLI::App* config =
      app.add_subcommand("config", "show the daemon's configuration")->group(kAdministering);
  config->require_subcommand(1);
  CLI::App* dump = add(*config, arguments, "dump",
                       "print what is in force, and where each value is from; no secrets",
                       Command::config_dump, "Subcommands");
  dump->add_option("NAME", arguments.name, "all options of one sequence (default: all tables)");
}

// What looks again and again.
void describe_watching(CLI::App& app, Arguments& arguments) {
  const auto looks = CLI::Range(std::int64_t{1}, kMostLooks);
  const auto interval = [&arguments](CLI::App* command, const char* text) {
    add_seconds(*command, "-i,--interval", arguments.interval_ms, text, kShortestInterval,
                kLongestInterval);
  };
  CLI::App* stat = add(app, arguments, "stat", "print what the daemon did, a line an interval",
                       Command::stat, kWatching);
  interval(stat, "seconds a line is about (default 1)");
  stat->add_option("-n,--count", arguments.looks, "so many lines (default: without end)")
      ->check(looks);
  CLI::App* top = add(app, arguments, "top",
                      "show the busiest sequences, again and again; once on what is no terminal",
                      Command::top, kWatching);
  interval(top, "seconds between two looks (default 1)");
  top->add_option("-n,--count", arguments.looks, "so many tables")->check(looks);
  top->add_option("--rows", arguments.rows,
                  "at most so many sequences (default: as many as fit, or 20)")
      ->check(CLI::Range(std::int64_t{1}, kMostRows));
  CLI::App* watch = add(app, arguments, "watch", "follow some sequences, a line for each change",
                        Command::watch, kWatching);
  interval(watch, "seconds between two looks (default 1)");
  watch->add_option("-n,--count", arguments.looks, "so many looks (default: without end)")
      ->check(looks);
  watch->add_option("NAME", arguments.names, "the sequences, at most 100")
      ->required()
      ->expected(1, kMostWatched);
  CLI::App* latency = add(app, arguments, "latency",
                          "measure pings one after the other; prints quantiles and a histogram",
                          Command::latency, kWatching);
  interval(latency, "seconds from the beginning of one to the next (default 0.001)");
  latency->add_option("-n,--count", arguments.looks, "so many pings (default 1000)")->check(looks);
}

void describe_checks(CLI::App& app, Arguments& arguments) {
  CLI::App* health = add(app, arguments, "health", "for probes: one line, and an exit code",
                         Command::health, kWatching);
  CLI::Option* ready =
      health->add_flag("--ready", arguments.ready,
                       "it can issue IDs of every sequence in use: none is stopped (default)");
  health->add_flag("--live", arguments.live, "it answers, whatever its sequences and stores do")
      ->excludes(ready);
  CLI::App* doctor = add(app, arguments, "doctor",
                         "check socket, daemon, rights, files, clock and unit, and say what to do",
                         Command::doctor, kWatching);
  doctor->add_option("--state-dir", arguments.state_dir,
                     "the daemon's state directory (default: that of the process, if you may see "
                     "it, then /var/lib/seqd)");
  doctor->add_option("--witness-dir", arguments.witness_dir,
                     "its witness directory, if the configuration names one");
}

void describe_taking(CLI::App& app, Arguments& arguments) {
  const auto count_range = CLI::Range(std::int64_t{1}, kMostIds);
  CLI::App* next =
      add(app, arguments, "next", "take IDs and print them, one a line", Command::next, kTaking);
  next->add_option("NAME", arguments.name, "the sequence")->required();
  next->add_option("-n,--count", arguments.count, "how many (default 1)")->check(count_range);
  next->add_flag("--text", arguments.as_text, "as text, written as the sequence's format says");
  CLI::App* parse = add(app, arguments, "parse",
                        "decode the text of an ID; fails if the text is not valid", Command::parse);
  parse->add_option("NAME", arguments.name, "the sequence")->required();
  parse->add_option("TEXT", arguments.text, "the text")->required();
  CLI::App* insert = add(app, arguments, "insert",
                         "insert a document, a JSON object, and print the _id that it got",
                         Command::insert, kTaking);
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
                        Command::range, kTaking);
  range->add_option("NAME", arguments.name, "the sequence")->required();
  range->add_option("COUNT", arguments.count, "how many")->required()->check(count_range);
}

void describe_commands(CLI::App& app, Arguments& arguments) {
  describe_taking(app, arguments);
  CLI::App* peek =
      add(app, arguments, "peek", "show what would come next; takes nothing", Command::peek);
  peek->add_option("NAME", arguments.name, "the sequence")->required();
  add(app, arguments, "list", "show the sequences the daemon knows", Command::list);
  add(app, arguments, "status", "show the daemon's state on one screen", Command::status);
  add(app, arguments, "clients", "show who is connected, and what they took", Command::clients);
  CLI::App* rights = add(app, arguments, "rights",
                         "show whether you may administer and take IDs, and why", Command::rights);
  rights->add_option("NAME", arguments.names, "sequences (default: those in use)");
  add(app, arguments, "ping", "ask whether the daemon answers", Command::ping);
  add(app, arguments, "reload", "read the configuration again; fails when it is wrong",
      Command::reload, kAdministering);
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
                          Command::advance, kAdministering);
  describe_advance(*advance, arguments);
  advance->add_flag("--yes", arguments.yes, "do it; without it, show what would be done");
  CLI::App* drain =
      add(app, arguments, "drain",
          "release the available IDs: return them, or write them off, as `reuse` says",
          Command::drain, kAdministering);
  CLI::Option_group* which = drain->add_option_group("which");
  which->add_option("NAME", arguments.name, "the sequence");
  which->add_flag("--all", arguments.all, "every sequence of the daemon");
  which->require_option(1);
  drain->add_flag("--yes", arguments.yes,
                  "do it; without it, show what would be lost (nothing is with `reuse` parked)");
  describe_config(app, arguments);
  describe_housekeeping(app, arguments);
  describe_watching(app, arguments);
  describe_checks(app, arguments);
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
          ->check(CLI::Range(0.001, kLongestTimeout))
          ->check(refuse_nan);
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
  const bool pings = arguments.command == Command::latency;
  if (pings && arguments.looks == 0) arguments.looks = kPings;
  if (arguments.interval_ms == 0) arguments.interval_ms = pings ? 1 : 1'000;
  arguments.format = format == "json" ? Format::json : Format::text;
  arguments.timeout_ms = std::llround(timeout_s * 1'000);
  arguments.timeout_is_given = timeout->count() > 0;
  parsed.runs = true;
  return parsed;
}

}  // namespace seqd::seqctl
