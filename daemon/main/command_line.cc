// CLI11 is included here and nowhere else.
#include "daemon/main/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "daemon/main/config/options/options_text.h"
#include "daemon/main/exit_codes.h"
#include "daemon/main/modules/store_modules.h"
#include "daemon/os/journal/catalog.h"
#include "protocol/version.h"

namespace seqd {
namespace {

CommandLine leave(std::string output, int exit_code = 0) {
  CommandLine out;
  out.action = CommandLine::Action::leave;
  out.output = std::move(output);
  out.exit_code = exit_code;
  out.failed = exit_code != 0;
  return out;
}

// What is made from the tables of options, errors and events, for the build.
std::string generated(const std::string& what) {
  if (what == "scdoc") return options_scdoc();
  if (what == "sample") return options_sample();
  if (what == "errors") return errors_scdoc();
  return options_help(OptionSet::all);
}

std::string exit_codes_help() {
  std::string out = "Exit codes, see seqd(8):\n";
  for (const ExitCode& one : kExitCodes) {
    const std::string code = std::to_string(one.code);
    out.append("  ").append(code).append(std::string(4 - code.size(), ' '));
    out.append(one.meaning).append("\n");
  }
  return out;
}

struct Words {
  ConfigurationRequest request;
  bool check = false;
  std::string print_options;
  bool print_catalog = false;
};

void describe(CLI::App& app, Words& words) {
  app.set_version_flag("--version", "seqd " SEQD_VERSION);
  app.set_help_all_flag("--help-all",
                        "Print this help message with all options of the configuration and exit");
  app.add_option("--config", words.request.file,
                 "the configuration; /etc/seqd/seqd.toml if there is one")
      ->type_name("FILE");
  app.add_option("--socket", words.request.socket, "in place of daemon.socket")->type_name("PATH");
  app.add_option("--state-dir", words.request.state_dir, "in place of daemon.state_dir")
      ->type_name("DIR");
  app.add_option("--witness-dir", words.request.witness_dir, "in place of daemon.witness_dir")
      ->type_name("DIR");
  app.add_flag("--check", words.check, "check the configuration and exit");
  // For the build: an empty group is not shown.
  app.add_option("--print-options", words.print_options)
      ->check(CLI::IsMember({"scdoc", "sample", "errors", "help"}))
      ->group("");
  app.add_flag("--print-catalog", words.print_catalog)->group("");
  app.footer(exit_codes_help());
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CLI::App app(
      "seqd: leases ranges of sequence numbers from a store and serves them to the "
      "processes of this host.",
      "seqd");
  Words words;
  describe(app, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return leave(app.help() +
                 "Basic options of the configuration, with their defaults (--help-all prints all "
                 "of them):\n" +
                 options_help(OptionSet::basic));
  } catch (const CLI::CallForAllHelp&) {
    return leave(app.help() + "Options of the configuration, with their defaults:\n" +
                 options_help(OptionSet::all));
  } catch (const CLI::CallForVersion&) {
    return leave("seqd " SEQD_VERSION "\n" + describe_store_modules());
  } catch (const CLI::Error& error) {
    return leave(std::string("seqd: ") + error.what() + "\nTry: seqd --help\n", kExitUsage);
  }
  if (!words.print_options.empty()) return leave(generated(words.print_options));
  if (words.print_catalog) return leave(journal_catalog());
  CommandLine out;
  out.request = std::move(words.request);
  if (words.check) {
    out.action = CommandLine::Action::check;
    out.request.need_credentials = false;
  }
  return out;
}

int check_configuration(const ConfigurationRequest& request) {
  const Result<Configuration> configuration = load_configuration(request);
  if (!configuration.ok()) {
    std::fprintf(stderr, "%s\n", configuration.status().text().c_str());
    return kExitConfig;
  }
  std::string missing;
  for (const auto& [name, store] : configuration->stores) {
    const Status module = check_store_module(store.type);
    if (!module.ok()) missing.append("store \"" + name + "\": " + module.text() + "\n");
  }
  if (!missing.empty()) {
    std::fprintf(stderr, "the configuration is valid, but its daemon would not start here\n%s",
                 missing.c_str());
    return kExitConfig;
  }
  std::printf("configuration is valid\n%s", summarize(*configuration).c_str());
  for (const std::string& warning : configuration->warnings)
    std::printf("warning: %s\n", warning.c_str());
  return 0;
}

}  // namespace seqd
