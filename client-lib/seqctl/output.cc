#include "client-lib/seqctl/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace seqd::seqctl {

Output::State Output::write(std::string_view text) {
  while (state_ == State::well && !text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      state_ = State::reader_gone;
    } else if (errno == EAGAIN) {
      // The descriptor is somebody else's as well, who made it so. What was taken must be printed.
      pollfd room{descriptor_, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      state_ = State::failed;
      failure_ = std::strerror(errno);
    }
  }
  return state_;
}

}  // namespace seqd::seqctl
