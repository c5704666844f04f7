#include "client-lib/seqctl/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {

Output::State Output::write(std::string_view text) {
  while (state_ == State::well && !text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      state_ = State::reader_gone;
    } else if (errno == EAGAIN) {
      // Another process shares the descriptor, and made it non-blocking. IDs that were taken must
      // be printed.
      pollfd room{descriptor_, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      state_ = State::failed;
      failure_ = std::strerror(errno);
    }
  }
  return state_;
}

Output::State Output::wait_while_read(std::int64_t milliseconds) {
  // Without requested events, poll() reports only that the descriptor has ended.
  pollfd end{descriptor_, 0, 0};
  const int ready = poll(&end, 1, static_cast<int>(milliseconds));
  if (ready <= 0 || state_ != State::well) return state_;
  state_ = State::reader_gone;
  if ((end.revents & POLLNVAL) != 0) {
    state_ = State::failed;
    failure_ = std::strerror(EBADF);
  }
  return state_;
}

int exit_code_of_writing(Format format, const Output& out, Output& errors) {
  if (out.state() != Output::State::failed) return kExitOk;
  errors.write(error_text(format, "OUTPUT", out.failure()));
  return kExitError;
}

}  // namespace seqd::seqctl
