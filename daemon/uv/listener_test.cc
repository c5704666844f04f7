#include "daemon/uv/listener.h"

#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/adapters/loop_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::LoopDaemon;
using testing::SocketClient;
using Client = std::unique_ptr<SocketClient>;

// A listening socket that is not ours. Closing it leaves its file behind.
struct ForeignSocket {
  ForeignSocket(const std::string& path, int backlog) {
    fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    address.sun_family = AF_UNIX;
    REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(fd, backlog) == 0);
  }
  ~ForeignSocket() { ::close(fd); }
  // Connections that nobody accepts, until no more fit.
  std::vector<int> fill() {
    std::vector<int> sockets;
    while (true) {
      const int one = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      sockets.push_back(one);
      if (::connect(one, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) break;
    }
    return sockets;
  }
  int fd = -1;
  sockaddr_un address{};
};

TEST_CASE("SocketGetsItsPermissions", "[listener]") {
  const int mode = GENERATE(0600, 0660, 0666);
  LoopDaemon daemon;
  REQUIRE(daemon.listener->listen_at(daemon.path(), mode).ok());
  struct stat facts {};
  REQUIRE(stat(daemon.path().c_str(), &facts) == 0);
  REQUIRE(S_ISSOCK(facts.st_mode));
  REQUIRE((facts.st_mode & 0777) == static_cast<unsigned>(mode));
}

// A client that finds the name already is not to hear EACCES from a mode that is about to change.
TEST_CASE("PermissionsOfTheSocketDoNotChangeOnceItIsThere", "[listener]") {
  const int mode = GENERATE(0600, 0660, 0666);
  LoopDaemon daemon;
  const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  REQUIRE(watch >= 0);
  REQUIRE(inotify_add_watch(watch, daemon.directory.c_str(), IN_CREATE | IN_ATTRIB) >= 0);
  REQUIRE(daemon.listener->listen_at(daemon.path(), mode).ok());
  alignas(inotify_event) char events[4096];
  const ssize_t size = ::read(watch, events, sizeof events);
  ::close(watch);
  REQUIRE(size > 0);
  std::uint32_t seen = 0;
  for (ssize_t at = 0; at < size;) {
    inotify_event event{};
    std::memcpy(&event, events + at, sizeof event);
    seen |= event.mask;
    at += static_cast<ssize_t>(sizeof event + event.len);
  }
  REQUIRE((seen & (IN_CREATE | IN_ATTRIB)) == IN_CREATE);
}

TEST_CASE("StaleSocketIsReplaced", "[listener]") {
  LoopDaemon daemon;
  { const ForeignSocket stale(daemon.path(), 5); }
  REQUIRE(std::filesystem::exists(daemon.path()));
  REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).ok());
  const Client client = daemon.connect();
  client->send(next_request(1, "orders"));
  REQUIRE(daemon.receive(*client, 1).front().id() == 1);
}

TEST_CASE("SocketInUseIsRefused", "[listener]") {
  LoopDaemon daemon;
  ForeignSocket live(daemon.path(), 5);
  const Status status = daemon.listener->listen_at(daemon.path(), 0600);
  REQUIRE(status.code() == ErrorCode::CONFIG);
  REQUIRE(status.text().find(daemon.path()) != std::string::npos);
}

TEST_CASE("SocketInUseThatHangsIsRefusedWithoutWaiting", "[listener]") {
  LoopDaemon daemon;
  ForeignSocket live(daemon.path(), 0);
  const std::vector<int> sockets = live.fill();
  REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).code() == ErrorCode::CONFIG);
  REQUIRE(std::filesystem::exists(daemon.path()));
  for (const int one : sockets) ::close(one);
}

TEST_CASE("FileOfAnotherKindIsLeftAlone", "[listener]") {
  LoopDaemon daemon;
  std::ofstream(daemon.path()) << "precious";
  REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).code() == ErrorCode::CONFIG);
  REQUIRE(std::filesystem::file_size(daemon.path()) == 8);
}

TEST_CASE("SymbolicLinkIsNotFollowed", "[listener]") {
  LoopDaemon daemon;
  std::filesystem::create_symlink(daemon.directory + "/elsewhere", daemon.path());
  REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).code() == ErrorCode::CONFIG);
  REQUIRE(std::filesystem::is_symlink(daemon.path()));
}

TEST_CASE("PathThatIsTooLongIsNamed", "[listener]") {
  LoopDaemon daemon;
  const std::string path = daemon.directory + "/" + std::string(108, 'x');
  const Status status = daemon.listener->listen_at(path, 0600);
  REQUIRE(status.code() == ErrorCode::CONFIG);
  REQUIRE(status.text().find("107") != std::string::npos);
}

TEST_CASE("PathInNoDirectoryIsAnError", "[listener]") {
  LoopDaemon daemon;
  REQUIRE(daemon.listener->listen_at(daemon.directory + "/no/seqd.sock", 0600).code() ==
          ErrorCode::CONFIG);
}

TEST_CASE("SocketOfSystemdIsServedAndItsFileStays", "[listener]") {
  LoopDaemon daemon;
  ForeignSocket given(daemon.path(), 5);
  REQUIRE(daemon.listener->listen_on(dup(given.fd)).ok());
  const Client client = daemon.connect();
  client->send(plain_request(1, "ping"));
  REQUIRE(daemon.receive(*client, 1).size() == 1);
  daemon.listener->stop_accepting();
  REQUIRE(std::filesystem::exists(daemon.path()));
}

TEST_CASE("ListeningEndsWithTheRemovalOfItsSocket", "[listener]") {
  LoopDaemon daemon;
  REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).ok());
  const Client client = daemon.connect();
  client->send(plain_request(1, "ping"));
  daemon.receive(*client, 1);
  daemon.listener->stop_accepting();
  REQUIRE_FALSE(std::filesystem::exists(daemon.path()));
  // Those that are connected are still served.
  client->send(plain_request(2, "ping"));
  REQUIRE(daemon.receive(*client, 1).front().msgid == 2);
}

TEST_CASE("SocketOfAnotherDaemonIsNotRemoved", "[listener]") {
  LoopDaemon daemon;
  REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).ok());
  // Kept under another name, so that its inode is not given to the new one.
  std::filesystem::rename(daemon.path(), daemon.directory + "/old.sock");
  const ForeignSocket other(daemon.path(), 5);
  daemon.listener->stop_accepting();
  REQUIRE(std::filesystem::exists(daemon.path()));
}

TEST_CASE("ConnectionsAreLimited", "[listener]") {
  ListenerLimits limits;
  limits.connections = 3;
  LoopDaemon daemon(limits);
  REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).ok());
  std::vector<Client> clients;
  for (int at = 0; at < 3; ++at) clients.push_back(daemon.connect());
  daemon.run_until([&] { return daemon.server->counts().connections == 3; });
  const Client refused = daemon.connect();
  daemon.run_until([&] {
    refused->read();
    return refused->ended();
  });
  REQUIRE(daemon.events.count(EventKind::limit_reached) == 1);
  for (const Client& client : clients) {
    client->send(plain_request(1, "ping"));
    REQUIRE(daemon.receive(*client, 1).size() == 1);
  }
  // Room again.
  clients.pop_back();
  daemon.run_until([&] { return daemon.listener->connections() == 2; });
  const Client admitted = daemon.connect();
  admitted->send(plain_request(1, "ping"));
  REQUIRE(daemon.receive(*admitted, 1).size() == 1);
}

TEST_CASE("AThousandConnectionsAreServed", "[listener]") {
  testing::raise_file_limit();
  LoopDaemon daemon;
  REQUIRE(daemon.listener->listen_at(daemon.path(), 0600).ok());
  std::vector<Client> clients;
  std::size_t answered = 0;
  for (std::uint32_t at = 0; at < 1'000; ++at) {
    clients.push_back(daemon.connect());
    clients.back()->send(next_request(at, "orders"));
  }
  daemon.run_until([&] {
    for (const Client& client : clients) answered += client->replies().size();
    return answered == 1'000;
  });
  REQUIRE(daemon.table->at(daemon.table->find("orders")).totals().issued == 1'000);
  REQUIRE(daemon.listener->connections() == 1'000);
  clients.clear();
  daemon.run_until([&] { return daemon.listener->connections() == 0; });
}

}  // namespace
}  // namespace seqd
