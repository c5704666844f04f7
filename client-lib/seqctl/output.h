// Output: a descriptor that text is written to, whole. A reader that has gone away (`| head -1`) is
// not an error to complain about, only a reason to stop. Does not own the descriptor. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client-lib/seqctl/command_line.h"

namespace seqd::seqctl {

class Output {
 public:
  enum class State : std::uint8_t { well, reader_gone, failed };

  explicit Output(int descriptor) : descriptor_(descriptor) {}

  // After anything but `well` it writes nothing more and returns the same again. SIGPIPE must be
  // ignored.
  State write(std::string_view text);
  // Waits for so long, or until the reader goes away or a signal comes.
  State wait_while_read(std::int64_t milliseconds);
  State state() const { return state_; }
  int descriptor() const { return descriptor_; }
  const std::string& failure() const { return failure_; }

 private:
  int descriptor_;
  State state_ = State::well;
  std::string failure_;
};

// The exit code after writing to `out`; an error of that is written to `errors`.
int exit_code_of_writing(Format format, const Output& out, Output& errors);

}  // namespace seqd::seqctl
