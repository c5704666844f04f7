// What the programs of the tests that take IDs say on their command lines alike. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace seqd::tools {

// Adds the daemon's socket (empty: the default one) and the name of the sequence; both are read by
// read_options() into what was given here.
inline void add_place(CLI::App& app, std::string& socket, std::string& name) {
  app.add_option("--socket", socket);
  app.add_option("--name", name);
}

// Reads the options of `app`. Returns -1, or the exit code of a program that was asked for its help
// (0) or whose options are wrong (2), which is then said.
inline int read_options(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return -1;
}

}  // namespace seqd::tools
