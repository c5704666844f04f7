// Connection: one Unix stream socket to the daemon; nothing else of libseqd connects, sends or
// receives. No call waits but receive_within() and wait(). Raises no signal, and the descriptor is
// closed by exec. Owned by a Client; one thread.
//
// is_open() says whether there is a descriptor, also of a connection that is lost: the caller
// closes it. One that could not be opened has none.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/buffer.h"

namespace seqd::engine {

class Connection {
 public:
  Connection() = default;
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Whether `path` fits a socket address.
  static bool is_path_legal(std::string_view path);

  // 0, or the errno. The socket must not be open.
  [[nodiscard]] int open(const std::string& path);
  void close();
  // For every copy of the descriptor in other processes. What was sent before still arrives.
  void end_for_all();
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  // Sends what the socket takes now and consumes it: 0, or the errno of a lost connection.
  [[nodiscard]] int send(protocol::Buffer& bytes);

  struct [[nodiscard]] Received {
    enum class Kind : std::uint8_t { bytes, nothing_yet, lost };
    Kind kind = Kind::nothing_yet;
    std::string_view bytes;  // valid until the next receive()
    int error = 0;           // of a lost connection; 0: the daemon closed it
  };
  Received receive();
  // The same, but waits for bytes: at most `timeout_ms` (> 0), and not always so long. One system
  // call, where wait() and receive() are two.
  Received receive_within(std::int64_t timeout_ms);
  // receive_within() looks without sleeping until so long after the last bytes, sent or received.
  void set_busy_poll(std::int64_t busy_poll_us) { busy_poll_us_ = busy_poll_us; }
  // The user that created the daemon's socket: the daemon's, or root if systemd did. None: not
  // known.
  std::optional<uid_t> peer_user() const;

  // Waits until there is something to read (or, with `to_write`, room to write), at most
  // `timeout_ms` (>= 0). Without a socket it only waits.
  void wait(bool to_write, std::int64_t timeout_ms) const;

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kReceiveBytes = 64 * 1024;

  Received receive(int flags);
  Received receive_busily(Clock::time_point end);
  void poll_on() {
    if (busy_poll_us_ != 0) poll_until_ = Clock::now() + std::chrono::microseconds(busy_poll_us_);
  }

  int descriptor_ = -1;
  std::int64_t busy_poll_us_ = 0;
  Clock::time_point poll_until_;
  std::int64_t wait_ms_ = 0;        // that the socket is set to; 0: none yet, which is for ever
  bool recv_gave_nothing_ = false;  // the last recv() that may wait
  protocol::Buffer received_;
};

}  // namespace seqd::engine
