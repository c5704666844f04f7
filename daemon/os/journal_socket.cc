#include "daemon/os/journal_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace seqd {

JournalSocket::JournalSocket(std::string path)
    : path_(std::move(path)),
      descriptor_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}

JournalSocket::~JournalSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool JournalSocket::put(const std::string& message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(),
              std::min(path_.size(), sizeof(address.sun_path) - std::size_t{1}));
  for (;;) {
    const ssize_t sent =
        ::sendto(descriptor_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (sent >= 0) return true;
    if (errno != EINTR) return false;
  }
}

void JournalSocket::send(const std::vector<std::string>& fields) {
  std::string message;
  for (const std::string& field : fields) message.append(field).append("\n");
  if (!put(message)) {
    ++lost_;
    return;
  }
  if (lost_ == 0) return;
  const std::int64_t lost = lost_.exchange(0);
  const bool told = put("MESSAGE=" + std::to_string(lost) +
                        " messages before the last one were lost: journald did not take them\n"
                        "PRIORITY=4\nSYSLOG_IDENTIFIER=seqd\n");
  if (!told) lost_ += lost;
}

}  // namespace seqd
