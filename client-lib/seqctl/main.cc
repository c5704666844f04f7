// seqctl: takes IDs from the daemon and queries its status; see packaging/man/seqctl.1.scd.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqctl/commands.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqd.h"

namespace {

int run(int argc, char** argv) {
  // A reader that goes away shows as an error of write(), which ends the output quietly.
  std::signal(SIGPIPE, SIG_IGN);
  seqd::seqctl::Output out(STDOUT_FILENO);
  seqd::seqctl::Output errors(STDERR_FILENO);
  const auto parsed = seqd::seqctl::parse_command_line(argc, argv, seqd_version());
  if (!parsed.runs) {
    (parsed.exit_code == 0 ? out : errors).write(parsed.text);
    return parsed.exit_code;
  }
  // Commands that take IDs print them, and commands that sample have a table or a terminal to
  // leave in order; the others end at once.
  using seqd::seqctl::Command;
  const Command command = parsed.arguments.command;
  if (command == Command::next || command == Command::range || seqd::seqctl::takes_samples(command))
    seqd::seqctl::watch_interruptions();
  return seqd::seqctl::run_command(parsed.arguments, out, errors);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    // Of memory, or a defect; what was taken before is printed.
    std::fprintf(stderr, "seqctl: %s\n", error.what());
    return seqd::seqctl::kExitError;
  }
}
