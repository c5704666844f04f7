// The command line of seqd. Called once, first thing in main.
#pragma once

#include <string>

#include "daemon/main/config/config.h"

namespace seqd {

struct CommandLine {
  enum class Action {
    serve,
    check,  // validate the configuration and leave
    leave,  // print `output` and exit (--help, --version, a usage error)
  };
  Action action = Action::serve;
  ConfigurationRequest request;
  std::string output;   // for `leave`
  bool failed = false;  // `output` belongs on stderr
  int exit_code = 0;    // for `leave`
};

CommandLine parse_command_line(int argc, const char* const* argv);

// `seqd --check`: prints "configuration is valid" and a summary to stdout, or every problem to
// stderr. Returns the exit code.
int check_configuration(const ConfigurationRequest& request);

}  // namespace seqd
