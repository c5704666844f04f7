#include "client-lib/seqctl/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "client-lib/seqctl/exit_codes.h"
#include "protocol/limits.h"

namespace seqd::seqctl {
namespace {

constexpr double kLongestTimeout = 86'400;
constexpr std::int64_t kMostIds = 1'000'000'000;
constexpr std::int64_t kMostGaps = 1'000;

constexpr double kShortestInterval = 0.001;
constexpr double kLongestInterval = 3'600;
constexpr std::int64_t kMostSamples = 1'000'000;
constexpr std::int64_t kMostRows = 1'000;
constexpr int kMostWatched = 100;
constexpr std::int64_t kPings = 1'000;

constexpr const char* kTaking = "Taking IDs";
constexpr const char* kQuerying = "Querying";
constexpr const char* kWatching = "Watching";
constexpr const char* kAdministering = "Administering";

constexpr const char* kFooter =
    "\nExamples:\n"
    "  seqctl next orders               take an ID\n"
    "  seqctl explain orders 4711       show who received it, or why it is a gap\n"
    "  seqctl top                       show the busiest sequences, and refresh\n"
    "  seqctl stat -i 5 -n 12           print twelve lines, one every five seconds\n"
    "  seqctl watch orders invoices     print a line when one of them changes\n"
    "  seqctl health --ready            answer a probe; see also seqctl doctor\n"
    "  seqctl drain orders              show what --yes would do\n"
    "\nExit codes: 0 done, 1 error of the daemon or its store, or doctor found\n"
    "something bad, 2 invalid usage, 3 an audit failed, 4 --yes is missing,\n"
    "5 status or health found a stopped sequence or a store with an error,\n"
    "69 no daemon answers, 75 try again (busy, store unavailable, time-out),\n"
    "130 interrupted.\n"
    "The socket is --socket, else $SEQD_SOCKET, else /run/seqd.sock.";

// Adds a command; its use sets `arguments.command`.
CLI::App* add(CLI::App& app, Arguments& arguments, const char* word, const char* text,
              Command command, const char* group = kQuerying) {
  CLI::App* added = app.add_subcommand(word, text)->group(group);
  added->callback([&arguments, command] { arguments.command = command; });
  return added;
}

// CLI11 replaces a number that is out of range by the nearest int64.
std::string check_id(const std::string& text) {
  std::int64_t id = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), id);
  if (end.ec == std::errc() && end.ptr == text.data() + text.size()) return {};
  return "\"" + text + "\" is not an integer from -2^63 to 2^63-1";
}

// Commands for the operator, with --yes.
void describe_housekeeping(CLI::App& app, Arguments& arguments) {
  CLI::App* decommission =
      add(app, arguments, "decommission",
          "remove this daemon permanently; without --yes, show what it would do",
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

void add_key(CLI::App& command, Arguments& arguments, bool has_number) {
  command.add_option("NAME", arguments.name, "the register, or a period of it: invoices@2026")
      ->required();
  command.add_option("KEY", arguments.text, "the key of the document")->required();
  if (!has_number) return;
  command
      .add_option("--number", arguments.id,
                  "only if that is the number of the key; then the command can be repeated")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
}

void describe_registers(CLI::App& app, Arguments& arguments) {
  add_key(*add(app, arguments, "assign", "print the number of a key in a register, or give it one",
               Command::assign, kTaking),
          arguments, false);
  add_key(*add(app, arguments, "confirm", "say that the document of a key exists", Command::confirm,
               kTaking),
          arguments, true);
  CLI::App* cancel = add(app, arguments, "cancel",
                         "take the number from a key: only if its document is known not to exist",
                         Command::cancel, kTaking);
  add_key(*cancel, arguments, true);
  cancel->add_option("--reason", arguments.reason, "why; it stays in the register")->required();
  CLI::App* settle =
      add(app, arguments, "settle",
          "confirm and cancel in bulk: lines of KEY,confirmed and KEY,cancelled,REASON",
          Command::settle, kTaking);
  settle->add_option("NAME", arguments.name, "the register")->required();
  settle->add_option("FILE", arguments.text, "the file; - is standard input")->required();
  CLI::App* records =
      add(app, arguments, "register",
          "show the numbers of a register: your own, or all of them for administrators",
          Command::records);
  records->add_option("NAME", arguments.name, "the register, or a period of it")->required();
  CLI::Option* state = records->add_option("--state", arguments.state, "only those in this state")
                           ->check(CLI::IsMember({"assigned", "confirmed", "void", "free"}));
  records
      ->add_flag_callback(
          "--unconfirmed", [&arguments] { arguments.state = "assigned"; },
          "only unconfirmed numbers: --state assigned")
      ->excludes(state);
  records->add_flag("--csv", arguments.csv, "print comma-separated values, with a head");
  CLI::App* close =
      add(app, arguments, "close",
          "end a period of a register: it gets no more numbers; without --yes, show what is not "
          "confirmed",
          Command::close, kAdministering);
  close->add_option("NAME", arguments.name, "the period: invoices@2026")->required();
  close->add_flag("--yes", arguments.yes, "do it");
}

void describe_advance(CLI::App& advance, Arguments& arguments) {
  CLI::Option_group* which = advance.add_option_group("which");
  which->add_option("NAME", arguments.name, "the sequence");
  CLI::Option* all = which->add_flag(
      "--all", arguments.all,
      "every sequence of --store, after its database was restored from an older copy");
  which->require_option(1);
  CLI::Option* store =
      advance.add_option("--store", arguments.store, "the store of --all")->needs(all);
  all->needs(store);
  advance
      .add_flag("--resume", arguments.resume,
                "with --all: resume the sequences of a restored store; only after --all is done "
                "on every host")
      ->needs(all);
  advance.add_option("--to", arguments.id, "the next ID (default: above all IDs this host leased)")
      ->check(check_id)
      ->excludes(all);
  advance
      .add_flag("--everywhere", arguments.everywhere,
                "withdraw the lower IDs that this and other hosts have available")
      ->excludes(all);
}

// CLI11 accepts NaN in every range.
std::string refuse_nan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? "Value " + text + " is not a number" : "";
}

// An option in seconds, which sets `milliseconds`.
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
                       "print the configuration in force and the source of each value; no secrets",
                       Command::config_dump, "Subcommands");
  dump->add_option("NAME", arguments.name,
                   "print all options of this sequence (default: all tables)");
}

// Commands that query the daemon at an interval.
void describe_watching(CLI::App& app, Arguments& arguments) {
  const auto samples = CLI::Range(std::int64_t{1}, kMostSamples);
  const auto interval = [&arguments](CLI::App* command, const char* text) {
    add_seconds(*command, "-i,--interval", arguments.interval_ms, text, kShortestInterval,
                kLongestInterval);
  };
  CLI::App* stat = add(app, arguments, "stat",
                       "print rates, gaps and errors of the daemon, one line per interval",
                       Command::stat, kWatching);
  interval(stat, "seconds per line (default 1)");
  stat->add_option("-n,--count", arguments.samples, "number of lines (default: unlimited)")
      ->check(samples);
  CLI::App* top =
      add(app, arguments, "top", "show the busiest sequences; refreshed on a terminal, else once",
          Command::top, kWatching);
  interval(top, "seconds between two tables (default 1)");
  top->add_option("-n,--count", arguments.samples,
                  "number of tables (default: unlimited on a terminal, else 1)")
      ->check(samples);
  top->add_option("--rows", arguments.rows,
                  "the most sequences in a table (default: as many as fit, or 20)")
      ->check(CLI::Range(std::int64_t{1}, kMostRows));
  CLI::App* watch = add(app, arguments, "watch", "print a line for each change of some sequences",
                        Command::watch, kWatching);
  interval(watch, "seconds between two queries (default 1)");
  watch->add_option("-n,--count", arguments.samples, "number of queries (default: unlimited)")
      ->check(samples);
  watch->add_option("NAME", arguments.names, "the sequences, at most 100")
      ->required()
      ->expected(1, kMostWatched);
  CLI::App* latency = add(app, arguments, "latency",
                          "measure pings, one at a time; print quantiles and a histogram",
                          Command::latency, kWatching);
  interval(latency, "seconds from the start of a ping to the next (default 0.001)");
  latency->add_option("-n,--count", arguments.samples, "number of pings (default 1000)")
      ->check(samples);
}

void describe_checks(CLI::App& app, Arguments& arguments) {
  CLI::App* health = add(app, arguments, "health", "answer a probe: one line and an exit code",
                         Command::health, kWatching);
  CLI::Option* ready = health->add_flag(
      "--ready", arguments.ready, "the daemon can issue IDs of every sequence in use (default)");
  health
      ->add_flag("--live", arguments.live,
                 "the daemon answers, whatever the state of its sequences and stores")
      ->excludes(ready);
  CLI::App* doctor = add(app, arguments, "doctor",
                         "check socket, daemon, rights, files, clock and unit, and say what to do",
                         Command::doctor, kWatching);
  doctor->add_option("--state-dir", arguments.state_dir,
                     "the daemon's state directory (default: that of the process, if you may see "
                     "it, else /var/lib/seqd)");
  doctor->add_option("--witness-dir", arguments.witness_dir,
                     "the daemon's witness directory, if the configuration names one");
}

void describe_taking(CLI::App& app, Arguments& arguments) {
  CLI::App* next =
      add(app, arguments, "next", "take IDs and print them, one a line", Command::next, kTaking);
  next->add_option("NAME", arguments.name, "the sequence")->required();
  next->add_option("-n,--count", arguments.count, "how many (default 1)")
      ->check(CLI::Range(std::int64_t{1}, kMostIds));
  next->add_flag("--text", arguments.as_text, "print text in the sequence's format");
  CLI::App* parse = add(app, arguments, "parse",
                        "decode the text of an ID; fails if the text is not valid", Command::parse);
  parse->add_option("NAME", arguments.name, "the sequence")->required();
  parse->add_option("TEXT", arguments.text, "the text")->required();
  CLI::App* insert =
      add(app, arguments, "insert", "insert a document, a JSON object, and print its _id",
          Command::insert, kTaking);
  insert->add_option("NAME", arguments.name, "the sequence")->required();
  CLI::Option* document =
      insert->add_option("DOCUMENT", arguments.text, "the document (default: standard input)");
  insert->add_option("--unique", arguments.unique,
                     "a field of the document with a unique index; if a document with its value "
                     "exists, print the _id of that one");
  insert
      ->add_flag("--msgpack", arguments.message_pack,
                 "the document is MessagePack, on standard input")
      ->excludes(document);
  CLI::App* range = add(app, arguments, "range", "take COUNT IDs and print runs: first count step",
                        Command::range, kTaking);
  range->add_option("NAME", arguments.name, "the sequence")->required();
  range
      ->add_option("COUNT", arguments.count,
                   "how many, at most limits.max_count of the daemon (default 100,000)")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, protocol::kCountLimit.max));
}

void describe_commands(CLI::App& app, Arguments& arguments) {
  describe_taking(app, arguments);
  describe_registers(app, arguments);
  CLI::App* peek =
      add(app, arguments, "peek", "show the next ID, without taking it", Command::peek);
  peek->add_option("NAME", arguments.name, "the sequence")->required();
  add(app, arguments, "list", "show the sequences the daemon knows", Command::list);
  add(app, arguments, "status", "show the daemon's state on one screen", Command::status);
  add(app, arguments, "clients", "show the connections, and how many IDs each has taken",
      Command::clients);
  CLI::App* rights = add(app, arguments, "rights",
                         "show whether you may administer and take IDs, and why", Command::rights);
  rights->add_option("NAME", arguments.names, "sequences (default: those in use)");
  add(app, arguments, "ping", "check whether the daemon answers", Command::ping);
  add(app, arguments, "reload", "read the configuration again; fails if it is invalid",
      Command::reload, kAdministering);
  CLI::App* explain = add(app, arguments, "explain", "show who received an ID, or why it is a gap",
                          Command::explain);
  explain->add_option("NAME", arguments.name, "the sequence")->required();
  explain->add_option("ID", arguments.text, "the ID, or its text in the sequence's format")
      ->required();
  explain->add_flag("--text", arguments.as_text, "read digits as text, too");
  CLI::App* gaps =
      add(app, arguments, "gaps", "show the IDs that will never be issued, and why", Command::gaps);
  gaps->add_option("NAME", arguments.name, "the sequence")->required();
  gaps->add_option("-n,--count", arguments.gaps, "the most gaps to print (default 100)")
      ->check(CLI::Range(std::int64_t{1}, kMostGaps));
  gaps->add_option("--after", arguments.after, "only the gaps after the one with this number")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  CLI::App* audit =
      add(app, arguments, "audit",
          "verify that every leased ID is accounted for; fails if one is not", Command::audit);
  audit->add_option("NAME", arguments.name, "the sequence")->required();
  CLI::App* advance = add(app, arguments, "advance",
                          "raise the counter in the store, so that no lower ID is leased again",
                          Command::advance, kAdministering);
  describe_advance(*advance, arguments);
  advance->add_flag("--yes", arguments.yes, "do it; without it, show what would be done");
  CLI::App* drain =
      add(app, arguments, "drain",
          "release the available IDs: return them, or make them a gap, as `reuse` says",
          Command::drain, kAdministering);
  CLI::Option_group* which = drain->add_option_group("which");
  which->add_option("NAME", arguments.name, "the sequence");
  which->add_flag("--all", arguments.all, "every sequence of the daemon");
  which->require_option(1);
  drain
      ->add_flag("--remove", arguments.remove,
                 "make room for another name: the daemon forgets the sequence, its counter stays")
      ->excludes("--all");
  drain->add_flag("--yes", arguments.yes,
                  "do it; without it, show what would be lost (nothing is with `reuse` parked)");
  describe_config(app, arguments);
  describe_housekeeping(app, arguments);
  describe_watching(app, arguments);
  describe_checks(app, arguments);
  add(app, arguments, "wait", "wait until the daemon answers, at most --timeout", Command::wait);
}

// An error that names the first word that is no option; `otherwise` when there is none.
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
  if (pings && arguments.samples == 0) arguments.samples = kPings;
  if (arguments.interval_ms == 0) arguments.interval_ms = pings ? 1 : 1'000;
  arguments.format = format == "json" ? Format::json : Format::text;
  arguments.timeout_ms = std::llround(timeout_s * 1'000);
  arguments.timeout_is_given = timeout->count() > 0;
  parsed.runs = true;
  return parsed;
}

}  // namespace seqd::seqctl
