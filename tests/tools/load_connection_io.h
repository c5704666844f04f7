// What a connection of the load generator does on its socket; the declarations are in
// load_connection.h. A header, because every source file of this folder is a program of its own.
#pragma once

#include "protocol/acknowledging.h"
#include "tests/tools/load_connection.h"

namespace seqd::load {

inline void Connection::open() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = run_.options.socket;
  if (path.size() >= sizeof(address.sun_path)) fail("the socket's path is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail(std::string("socket: ") + std::strerror(errno));
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fail("connect to " + path + ": " + std::strerror(errno));
  }
  const timeval silence{kSilenceMs / 1000, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
}

inline void Connection::say_hello() {
  char identity[16];
  if (getrandom(identity, sizeof(identity), 0) != sizeof(identity)) fail("getrandom failed");
  std::string hello("\x94\x00\x00", 3);
  put_text(hello, "hello");
  hello += "\x91\x81";
  put_text(hello, "client");
  hello += std::string("\xc4\x10", 2) + std::string(identity, sizeof(identity));
  if (write(fd_, hello.data(), hello.size()) != static_cast<ssize_t>(hello.size())) {
    fail("hello could not be written");
  }
  const ssize_t got = read(fd_, run_.buffer.data(), run_.buffer.size());
  // [1, 0, nil, map]: the map itself is not looked at.
  if (got < 5 || std::memcmp(run_.buffer.data(), "\x94\x01\x00\xc0", 4) != 0) {
    fail("hello was refused");
  }
}

inline void Connection::acknowledge() {
  while (lowest_open_ != next_id_ && started(lowest_open_) == 0) ++lowest_open_;
  if (lowest_open_ - acknowledged_ < protocol::kAcknowledgeEvery) return;
  acknowledged_ = lowest_open_;
  output_ += "\x93\x02";
  put_text(output_, "ack");
  output_ += "\x91\xce";
  put_u32(output_, acknowledged_);
}

inline void Connection::ask(std::uint64_t wanted, std::uint64_t now) {
  wanted = std::min(wanted, run_.still_to_send);
  run_.still_to_send -= wanted;
  outstanding_ += wanted;
  if (run_.options.identity && wanted != 0) acknowledge();
  for (; wanted != 0; --wanted) {
    const RequestTemplate& request = run_.requests[run_.next_name];
    if (++run_.next_name == run_.requests.size()) run_.next_name = 0;
    const std::size_t at = output_.size() + request.message_id_at;
    output_ += request.bytes;
    const std::uint32_t id = next_id_++;
    if (started(id) != 0) fail("a reply is missing: its number is needed again");
    started(id) = now;
    if (run_.options.wire == Wire::seqd) {
      const std::uint32_t swapped = __builtin_bswap32(id);
      std::memcpy(output_.data() + at, &swapped, sizeof(swapped));
    }
  }
  flush();
}

inline void Connection::flush() {
  while (has_output()) {
    const ssize_t put = send(fd_, output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) fail(std::string("write: ") + std::strerror(errno));
    sent_ += static_cast<std::size_t>(put);
  }
  output_.clear();
  sent_ = 0;
}

inline std::uint64_t Connection::receive() {
  char* buffer = run_.buffer.data();
  const std::size_t kept = leftover_.size();
  std::memcpy(buffer, leftover_.data(), kept);
  const ssize_t got = read(fd_, buffer + kept, run_.buffer.size() - kept);
  if (got == 0) fail("the server closed the connection");
  if (got < 0) {
    if (errno == EINTR) return 0;
    fail(std::string("read: ") + std::strerror(errno));
  }
  return count_replies(buffer, buffer + kept + got);
}

inline std::uint64_t Connection::count_replies(const char* at, const char* end) {
  const std::uint64_t now = now_ns();
  const bool seqd = run_.options.wire == Wire::seqd;
  Tally& tally = run_.tally;
  std::uint64_t replies = 0;
  while (at != end) {
    Reply reply;
    const Parse parse =
        seqd ? parse_seqd(at, end, run_.options.count != 0, reply) : parse_redis(at, end, reply);
    if (parse == Parse::incomplete) break;
    if (parse == Parse::broken) fail("what the server sent is not a reply");
    const std::uint32_t id = seqd ? reply.message_id : lowest_open_++;
    std::uint64_t& started_ns = started(id);
    if (started_ns == 0)
      fail("a reply to a request that was not sent: " + std::string(reply.error));
    tally.latency.add(now - started_ns);
    started_ns = 0;
    // Redis answers INCRBY with one number, whatever was asked for.
    tally.ids += seqd || run_.options.count == 0 ? reply.ids : reply.ids * run_.options.count;
    if (!reply.error.empty() && tally.errors++ == 0) tally.first_error = reply.error;
    ++replies;
  }
  leftover_.assign(at, static_cast<std::size_t>(end - at));
  tally.replies += replies;
  outstanding_ -= replies;
  return replies;
}

}  // namespace seqd::load
