#include "daemon/uv/listener.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/uv/peer.h"
#include "daemon/uv/spare_descriptors.h"

namespace seqd {
namespace {

constexpr int kBacklog = 4'096;
constexpr std::int64_t kSweepMs = 500;  // between two walks over all connections, at least
constexpr int kMostAcceptsATurn = 256;
constexpr std::int64_t kUserFactor = 7;
// Connections (and descriptors for them) for root and the daemon's own user.
constexpr std::size_t kMostReserved = 32;

std::size_t reserved(std::size_t connections) {
  return std::min(connections / 8, kMostReserved);
}

std::int64_t shared(const ListenerLimits& limits) {
  return static_cast<std::int64_t>(limits.connections - reserved(limits.connections));
}

bool leaves_spare_descriptors(int fd, bool owner) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return true;
  rlim_t spare = spare_descriptors(files.rlim_cur);
  if (!owner) spare += reserved(files.rlim_cur);
  return static_cast<rlim_t>(fd) < files.rlim_cur - spare;
}

}  // namespace

Listener::Listener(EventLoop& loop, Server& server, EventSink& events, const ListenerLimits& limits)
    : loop_(loop),
      server_(server),
      events_(events),
      limits_(limits),
      peer_watch_(loop.raw()),
      sockets_(loop, events, "connections have to wait, none can be accepted",
               [this](int listening) { accept(listening); }),
      by_user_(shared(limits), kUserFactor) {
  loop_.before_sleep([this] { return look_before_sleep(); });
  set_busy_poll();
}

Listener::~Listener() {
  loop_.look_before_sleep(false);
  sweep_timer_.cancel();
  ASSERT(connections_.empty());
}

Status Listener::listen_at(const std::string& path, int mode) {
  ASSERT(made_.path.empty());
  Result<UnixSocket> made = bind_unix_socket(path, mode);
  if (!made.ok()) return made.status();
  made_ = std::move(*made);
  return listen(made_.fd);
}

Status Listener::listen_on(int socket) {
  return listen(socket);
}

Status Listener::listen(int socket) {
  int failed = peer_watch_.works() ? 0 : UV_EMFILE;
  if (failed != 0) ::close(socket);
  if (failed == 0) failed = sockets_.add(socket, kBacklog);
  if (failed == 0) return {};
  return {ErrorCode::CONFIG, std::string("cannot listen: ") + uv_strerror(failed)};
}

// The rest waits for the next turn: existing connections are served first.
void Listener::accept(int listening) {
  for (int accepted = 0; accepted < kMostAcceptsATurn; ++accepted) {
    const int fd = sockets_.accept(listening);
    if (fd < 0) return;
    take(fd);
  }
}

void Listener::take(int fd) {
  const Result<Peer> found = peer_of(fd);
  if (!found.ok()) {
    ::close(fd);
    events_.raise(
        {EventKind::client_dropped, "a client was disconnected: " + found.status().text(), {}});
    return;
  }
  const Peer& peer = *found;
  if (!admit(peer, fd)) {
    ::close(fd);
    return;
  }
  Connection::Owner& owner = *this;
  auto made = std::make_unique<Connection>(owner, server_);
  Connection* connection = made.get();
  connections_.emplace(connection, std::move(made));
  by_user_.take(peer.uid, 1);
  ASSERT(static_cast<std::size_t>(by_user_.used()) == connections_.size());
  connection->start(loop_.raw(), fd, peer);
  due_sooner(*connection);
}

void Listener::set_limits(const ListenerLimits& limits) {
  limits_ = limits;
  by_user_.set_total(shared(limits));
  set_busy_poll();
  if (!connections_.empty()) sweep_at(0);
}

const char* Listener::limit_reached(const Peer& peer, int fd) const {
  const bool owner = peer.uid == 0 || peer.uid == geteuid();
  // Neither root nor the daemon's user may take all reserved connections: a part is for the other.
  const std::size_t most = limits_.connections - reserved(limits_.connections) / 4;
  const bool room = owner ? connections_.size() < limits_.connections &&
                                by_user_.used_by(peer.uid) < static_cast<std::int64_t>(most)
                          : by_user_.allows(peer.uid, 1);
  if (!room) return "limits.max_connections";
  return leaves_spare_descriptors(fd, owner) ? nullptr : "RLIMIT_NOFILE";
}

bool Listener::admit(const Peer& peer, int fd) {
  const char* const limit = limit_reached(peer, fd);
  if (limit == nullptr) return true;
  events_.raise({EventKind::limit_reached,
                 std::string("a connection was refused: ") + limit + " is reached",
                 {{"LIMIT", limit},
                  {"CLIENT_UID", std::to_string(peer.uid)},
                  {"CLIENT_PID", std::to_string(peer.pid)}}});
  return false;
}

void Listener::attended(Connection& connection) {
  attended_.push_back(&connection);
}

void Listener::watch_peer(Connection& connection, int socket, bool watch) {
  if (!watch) {
    peer_watch_.forget(socket);
    return;
  }
  const Status watched = peer_watch_.watch(socket, [&connection] { connection.peer_gone(); });
  if (watched.ok()) return;
  const Peer& peer = connection.peer();
  events_.raise(
      {EventKind::limit_reached,
       "the end of a client under back-pressure, or with its half of the connection ended, "
       "will be noticed late: " +
           watched.text() + "; see fs.epoll.max_user_watches",
       {{"LIMIT", "fs.epoll.max_user_watches"},
        {"CLIENT_UID", std::to_string(peer.uid)},
        {"CLIENT_PID", std::to_string(peer.pid)}}});
}

void Listener::set_busy_poll() {
  busy_poll_.set_limit(limits_.busy_poll_ms);
  loop_.look_before_sleep(busy_poll_.enabled());
}

bool Listener::look_before_sleep() {
  const BusyPoll::Found found = busy_poll_.look();
  if (found == BusyPoll::Found::everything) loop_.turn_again();
  return found == BusyPoll::Found::input;
}

void Listener::ended(Connection& connection) {
  busy_poll_.forget(connection);
  by_user_.release(connection.peer().uid, 1);
  // Thousands may end in one turn: most are in neither list.
  if (connection.attended()) std::erase(attended_, &connection);
  if (connection.listed_deferred) std::erase(deferred_, &connection);
  const std::size_t erased = connections_.erase(&connection);
  ASSERT(erased == 1 && static_cast<std::size_t>(by_user_.used()) == connections_.size());
}

void Listener::resume_deferred() {
  // Before anything is issued to them in this turn.
  peer_watch_.look();
  if (deferred_.empty()) return;
  std::size_t served = 0;  // so many of attended_ had their turn
  bool refused = false;
  for (Connection* connection : std::exchange(deferred_, {})) {
    ASSERT(connection->listed_deferred);
    connection->listed_deferred = false;
    if (!refused && !connection->may_resume()) {
      refused = true;
      served = attended_.size();
    }
    connection->resume();
    if (connection->deferred()) connection->attend();
  }
  // The others are first in the next turn.
  if (refused)
    std::rotate(attended_.begin(), attended_.begin() + static_cast<std::ptrdiff_t>(served),
                attended_.end());
}

void Listener::send_replies() {
  if (attended_.empty()) return;
  replying_.clear();
  replying_.swap(attended_);
  for (Connection* connection : replying_) {
    connection->send_replies();
    if (!connection->deferred()) continue;
    ASSERT(!connection->listed_deferred);
    deferred_.push_back(connection);
    connection->listed_deferred = true;
    if (connection->may_resume()) loop_.turn_again();
  }
}

void Listener::due_sooner(const Connection& connection) {
  sweep_at(connection.due(static_cast<std::int64_t>(uv_now(loop_.raw())), limits_.times).at_ms);
}

// An idle connection needs no periodic check: the next one is when a time limit can have passed.
void Listener::sweep_at(std::int64_t due_ms) {
  if (due_ms >= sweep_ms_) return;
  const auto now_ms = static_cast<std::int64_t>(uv_now(loop_.raw()));
  const std::int64_t delay_ms = std::max(kSweepMs, due_ms - now_ms);
  if (now_ms + delay_ms >= sweep_ms_) return;
  sweep_ms_ = now_ms + delay_ms;
  sweep_timer_.start(delay_ms, [this] { sweep(); });
}

void Listener::sweep() {
  const auto now_ms = static_cast<std::int64_t>(uv_now(loop_.raw()));
  sweep_ms_ = Connection::kNeverMs;
  std::int64_t next_ms = Connection::kNeverMs;
  for (const auto& [connection, owned] : connections_) {
    const auto [at_ms, why] = connection->due(now_ms, limits_.times);
    if (at_ms > now_ms) {
      next_ms = std::min(next_ms, at_ms);
      continue;
    }
    ASSERT(why != nullptr);
    events_.raise({EventKind::client_dropped,
                   std::string("a client was disconnected: ") + why,
                   {{"CLIENT_UID", std::to_string(connection->peer().uid)},
                    {"CLIENT_PID", std::to_string(connection->peer().pid)}}});
    connection->abort();
  }
  sweep_at(next_ms);
}

void Listener::stop_accepting() {
  sockets_.close();
  unlink_unix_socket(std::exchange(made_, {}));
}

void Listener::drain() {
  for (const auto& [connection, owned] : connections_) connection->drain();
}

void Listener::close_all() {
  stop_accepting();
  for (const auto& [connection, owned] : connections_) connection->abort();
}

}  // namespace seqd
