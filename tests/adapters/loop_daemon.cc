#include "tests/adapters/loop_daemon.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace seqd::testing {
namespace {

constexpr std::int64_t kLongestMs = 300'000;
constexpr std::uint64_t kHeartbeatMs = 2;

}  // namespace

std::int64_t LoopClock::monotonic_ms() const {
  return static_cast<std::int64_t>(uv_hrtime() / 1'000'000);
}

SocketClient::SocketClient(const std::string& path) {
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  ASSERT(socket_ >= 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

SocketClient::~SocketClient() {
  close();
}

std::size_t SocketClient::send(std::string_view bytes) {
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

void SocketClient::end_input() {
  ASSERT(shutdown(socket_, SHUT_WR) == 0);
}

void SocketClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void SocketClient::read() {
  char piece[65'536];
  while (socket_ >= 0 && !ended_) {
    const ssize_t count = ::recv(socket_, piece, sizeof piece, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      ended_ = true;  // closed, or reset because it had not read everything
      return;
    }
    bytes_read_ += static_cast<std::size_t>(count);
    line_.received.append(piece, static_cast<std::size_t>(count));
  }
}

LoopDaemon::LoopDaemon(const ListenerLimits& limits, const ServerLimits& server_limits,
                       BlockPages* pages) {
  std::string pattern = std::filesystem::temp_directory_path() / "seqd-test-XXXXXX";
  ASSERT(mkdtemp(pattern.data()) != nullptr);
  directory = pattern;
  std::signal(SIGPIPE, SIG_IGN);  // as in main()
  settings.add("orders");
  log.begin_process();
  sessions = std::make_unique<Sessions>(server_limits.output_total);
  replies = std::make_unique<ReplyWriter>(*sessions);
  table = std::make_unique<SequenceTable>(CoreContext{clock, loop, random, log, events, *replies},
                                          settings, SequenceTable::Stores{{"default", &store}},
                                          TableLimits(), pages);
  replies->attach(*table);
  server =
      std::make_unique<Server>(Services{control, clock, log, *table}, *sessions, server_limits);
  table->restore(log.image);
  listener = std::make_unique<Listener>(loop, *server, events, limits);
  loop.on_turn_end([this] { end_turn(); });
  ASSERT(uv_timer_init(loop.raw(), &heartbeat_) == 0);
  uv_timer_start(
      &heartbeat_, [](uv_timer_t*) {}, kHeartbeatMs, kHeartbeatMs);
}

LoopDaemon::~LoopDaemon() {
  listener->close_all();
  while (listener->connections() > 0) uv_run(loop.raw(), UV_RUN_NOWAIT);
  loop.on_turn_end(nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&heartbeat_), nullptr);
  uv_run(loop.raw(), UV_RUN_NOWAIT);
  listener.reset();
  table.reset();
  std::filesystem::remove_all(directory);
}

void LoopDaemon::end_turn() {
  listener->resume_deferred();
  table->end_turn();
  ASSERT(log.commit().ok());
  listener->send_replies();
  if (log.flush_due()) {
    log.flush(*table);
    loop.turn_again();
  }
  while (store_answers && store.deliver()) loop.turn_again();
}

void LoopDaemon::run_until(const std::function<bool()>& done) {
  const std::int64_t began_ms = clock.monotonic_ms();
  while (!done()) {
    ASSERT(clock.monotonic_ms() - began_ms < kLongestMs);
    uv_run(loop.raw(), UV_RUN_ONCE);
  }
}

std::vector<Reply> LoopDaemon::receive(SocketClient& client, std::size_t count) {
  std::vector<Reply> all;
  run_until([&] {
    for (Reply& reply : client.replies()) all.push_back(std::move(reply));
    return all.size() >= count;
  });
  return all;
}

void LoopDaemon::run_turns(int count) {
  for (int at = 0; at < count; ++at) uv_run(loop.raw(), UV_RUN_ONCE);
}

void raise_file_limit() {
  rlimit limit{};
  ASSERT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

}  // namespace seqd::testing
