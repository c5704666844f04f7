// Runs commands of seqctl in the test's own process, and captures what they print. One thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "client-lib/seqctl/commands.h"
#include "tests/adapters/client/socket_daemon.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {

// A file that is read back.
class Capture {
 public:
  Capture() : descriptor_(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    REQUIRE(descriptor_ >= 0);
  }
  ~Capture() { ::close(descriptor_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  int descriptor() const { return descriptor_; }
  std::string text() const {
    std::string all(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)), '\0');
    REQUIRE(::pread(descriptor_, all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()));
    return all;
  }

 private:
  int descriptor_;
};

struct Outcome {
  int exit_code;
  std::string out;
  std::string errors;
};

inline Outcome run(const testing::SocketDaemon& daemon, Arguments arguments) {
  arguments.socket = daemon.path();
  Capture out;
  Capture errors;
  Output out_writer(out.descriptor());
  Output error_writer(errors.descriptor());
  const int code = run_command(arguments, out_writer, error_writer);
  return {code, out.text(), errors.text()};
}

inline Arguments command(Command command, std::int64_t count = 1, Format format = Format::text) {
  Arguments arguments;
  arguments.command = command;
  arguments.name = "orders";
  arguments.count = count;
  arguments.format = format;
  return arguments;
}

}  // namespace seqd::seqctl
