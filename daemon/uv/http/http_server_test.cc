#include "daemon/uv/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/adapters/in_time.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kLongestMs = 20'000;
constexpr std::size_t kPieces = 4'000;
constexpr std::size_t kPieceBytes = 8'192;

// A client's end, which never blocks.
class HttpPeer {
 public:
  HttpPeer(const sockaddr* address, socklen_t size)
      : socket_(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    REQUIRE(::connect(socket_, address, size) == 0);
  }
  ~HttpPeer() { ::close(socket_); }
  HttpPeer(const HttpPeer&) = delete;
  HttpPeer& operator=(const HttpPeer&) = delete;

  void send(std::string_view bytes) {
    REQUIRE(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // Reads what has arrived. True: the connection has ended.
  bool read() {
    std::array<char, 65'536> bytes{};
    while (true) {
      const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count < 0 && errno == EAGAIN) return false;
      if (count <= 0) return true;
      received.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  std::string received;

 private:
  int socket_;
};

class Site {
 public:
  explicit Site(const HttpServer::Limits& limits = {}) {
    std::string pattern = std::filesystem::temp_directory_path() / "seqd-test-XXXXXX";
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    server = std::make_unique<HttpServer>(
        loop, events,
        HttpServer::Site{"/metrics", [this](const HttpRequestHead& head) { return answer(head); }},
        limits);
    REQUIRE(server->listen_at(path(), 0600).ok());
    REQUIRE(uv_timer_init(loop.raw(), &heartbeat_) == 0);
    uv_timer_start(
        &heartbeat_, [](uv_timer_t*) {}, 5, 5);
  }
  ~Site() {
    server.reset();
    uv_close(reinterpret_cast<uv_handle_t*>(&heartbeat_), nullptr);
    loop.run_once();
    std::filesystem::remove_all(directory_);
  }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  std::string path() const { return directory_ + "/metrics.sock"; }
  std::unique_ptr<HttpPeer> connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().c_str(), path().size() + 1);
    return std::make_unique<HttpPeer>(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  std::unique_ptr<HttpPeer> connect_to_port() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return std::make_unique<HttpPeer>(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  // Runs the loop until `done`; false when that takes longer than any machine needs.
  bool run_until(const std::function<bool()>& done) {
    const std::int64_t began_ms = loop.now_ms();
    while (!done()) {
      if (loop.now_ms() - began_ms > kLongestMs) return false;
      uv_run(loop.raw(), UV_RUN_ONCE);
    }
    return true;
  }
  std::string ask(std::string_view request) {
    const auto peer = connect();
    peer->send(request);
    REQUIRE_IN_TIME(run_until([&] { return peer->read(); }));
    return peer->received;
  }

  EventLoop loop;
  RecordedEvents events;
  std::unique_ptr<HttpServer> server;
  std::vector<std::string> pieces = {"first\n", "", "second\n"};
  std::size_t endless_pieces = 0;  // so many of kPieceBytes were asked for
  std::string accepted;

 private:
  HttpBody answer(const HttpRequestHead& head) {
    accepted = head.accept;
    if (head.target == "/metrics?endless") {
      return {"text/plain", [this](std::string& out) {
                out.append(kPieceBytes, 'x');
                return ++endless_pieces < kPieces;
              }};
    }
    return {"text/plain", [this, at = std::size_t{0}](std::string& out) mutable {
              out += pieces.at(at++);
              return at < pieces.size();
            }};
  }

  std::string directory_;
  uv_timer_t heartbeat_{};  // wakes the loop, so that the clients' ends are looked at
};

std::string get(const std::string& target, const std::string& version = "1.1") {
  return "GET " + target + " HTTP/" + version + "\r\nHost: localhost\r\n\r\n";
}

bool begins_with(const std::string& text, std::string_view status) {
  return text.starts_with("HTTP/1.1 " + std::string(status) + " ");
}

TEST_CASE("HttpServer: a page comes in chunks, or ends with the connection", "[http_server]") {
  Site site;
  const std::string chunks = site.ask(get("/metrics"));
  CHECK(begins_with(chunks, "200"));
  CHECK(chunks.find("\r\nContent-Type: text/plain\r\n") != std::string::npos);
  CHECK(chunks.find("\r\nConnection: close\r\n") != std::string::npos);
  CHECK(chunks.ends_with("\r\n\r\n6\r\nfirst\n\r\n7\r\nsecond\n\r\n0\r\n\r\n"));
  const std::string whole = site.ask(get("/metrics", "1.0"));
  CHECK(whole.find("chunked") == std::string::npos);
  CHECK(whole.ends_with("\r\n\r\nfirst\nsecond\n"));
  REQUIRE_IN_TIME(site.run_until([&] { return site.server->clients() == 0; }));
}

TEST_CASE("HttpServer: the format is negotiated by whoever answers", "[http_server]") {
  Site site;
  CHECK(
      begins_with(site.ask("GET /metrics HTTP/1.1\r\nAccept: a/b\r\nAccept: c/d\r\n\r\n"), "200"));
  CHECK(site.accepted == "a/b,c/d");
}

TEST_CASE("HttpServer: HEAD has no body", "[http_server]") {
  Site site;
  const std::string reply = site.ask("HEAD /metrics HTTP/1.1\r\n\r\n");
  CHECK(begins_with(reply, "200"));
  CHECK(reply.ends_with("\r\n\r\n"));
  CHECK(reply.find("first") == std::string::npos);
}

TEST_CASE("HttpServer: everything else is refused by name", "[http_server]") {
  Site site;
  for (const char* const target : {"/", "/metrics/", "/metric", "/../metrics", "*", "/%6detrics"})
    CHECK(begins_with(site.ask(get(target)), "404"));
  const std::string post = site.ask("POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
  CHECK(begins_with(post, "405"));
  CHECK(post.find("\r\nAllow: GET, HEAD\r\n") != std::string::npos);
  CHECK(begins_with(site.ask("nonsense\r\n\r\n"), "400"));
  CHECK(begins_with(site.ask("GET /" + std::string(9'000, 'a')), "431"));
  CHECK(begins_with(site.ask("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'a')), "431"));
}

TEST_CASE("HttpServer: a second request on a connection is not answered", "[http_server]") {
  Site site;
  const std::string reply = site.ask(get("/metrics") + get("/metrics"));
  CHECK(reply.find("200 OK") == reply.rfind("200 OK"));
}

TEST_CASE("HttpServer: half a request has its time, and then its end", "[http_server]") {
  HttpServer::Limits limits;
  limits.head_ms = 50;
  Site site(limits);
  const auto silent = site.connect();
  const auto half = site.connect();
  half->send("GET /metrics HT");
  // One byte after the other gains nothing.
  const auto slow = site.connect();
  bool slow_ended = false;
  int sent = 0;  // fewer than a head may have
  REQUIRE_IN_TIME(site.run_until([&] {
    if (!slow_ended && site.server->clients() > 0) {
      slow_ended = slow->read();
      if (!slow_ended && ++sent < 1'000) slow->send("a");
    }
    return silent->read() && half->read() && (slow_ended || slow->read());
  }));
  CHECK(silent->received.empty());
  CHECK(half->received.empty());
  CHECK(site.server->clients() == 0);
}

TEST_CASE("HttpServer: who does not read holds a piece, and only for a while", "[http_server]") {
  HttpServer::Limits limits;
  limits.reply_ms = 200;
  Site site(limits);
  const auto peer = site.connect();
  peer->send(get("/metrics?endless"));
  REQUIRE_IN_TIME(site.run_until([&] { return site.endless_pieces > 0; }));
  REQUIRE_IN_TIME(site.run_until([&] { return site.server->clients() == 0; }));
  // What the socket took, and one piece.
  CHECK(site.endless_pieces < kPieces / 2);
  // Others are served meanwhile and afterwards.
  CHECK(begins_with(site.ask(get("/metrics")), "200"));
}

TEST_CASE("HttpServer: a long page is made as it is read", "[http_server]") {
  Site site;
  const auto peer = site.connect();
  peer->send(get("/metrics?endless", "1.0"));
  REQUIRE_IN_TIME(site.run_until([&] { return peer->read(); }));
  CHECK(site.endless_pieces == kPieces);
  CHECK(std::count(peer->received.begin(), peer->received.end(), 'x') >=
        static_cast<std::ptrdiff_t>(kPieces * kPieceBytes));
}

TEST_CASE("HttpServer: places are limited, and whoever waits gets one", "[http_server]") {
  HttpServer::Limits limits;
  limits.head_ms = 300;
  Site site(limits);
  std::vector<std::unique_ptr<HttpPeer>> peers;
  for (std::size_t at = 0; at < HttpServer::kMostClients + 10; ++at)
    peers.push_back(site.connect());
  REQUIRE_IN_TIME(
      site.run_until([&] { return site.server->clients() == HttpServer::kMostClients; }));
  const auto waiting = site.connect();
  waiting->send(get("/metrics"));
  std::size_t most = 0;
  REQUIRE_IN_TIME(site.run_until([&] {
    most = std::max(most, site.server->clients());
    return waiting->read();
  }));
  CHECK(most == HttpServer::kMostClients);
  CHECK(begins_with(waiting->received, "200"));
}

TEST_CASE("HttpServer: who goes away in the middle leaves nothing", "[http_server]") {
  Site site;
  for (const char* const bytes :
       {"", "GET /met", "GET /metrics?endless HTTP/1.1\r\n\r\n", "GET /metrics HTTP/1.1\r\n\r\n"}) {
    INFO(bytes);
    auto peer = site.connect();
    peer->send(bytes);
    REQUIRE_IN_TIME(site.run_until([&] { return site.server->clients() == 1; }));
    peer.reset();
    REQUIRE_IN_TIME(site.run_until([&] { return site.server->clients() == 0; }));
  }
}

TEST_CASE("HttpServer: the port of loopback serves the same", "[http_server]") {
  Site site;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  LoopbackAddress address;
  std::memcpy(&address.address, &any, sizeof any);
  address.size = sizeof any;
  REQUIRE(site.server->listen_on(address, "127.0.0.1:0").ok());
  REQUIRE(site.server->port() > 0);
  const auto peer = site.connect_to_port();
  peer->send(get("/metrics"));
  REQUIRE_IN_TIME(site.run_until([&] { return peer->read(); }));
  CHECK(begins_with(peer->received, "200"));
  // Another server cannot have it.
  HttpServer other(site.loop, site.events, {"/metrics", nullptr});
  const Result<LoopbackAddress> taken =
      parse_loopback("127.0.0.1:" + std::to_string(site.server->port()));
  REQUIRE(taken.ok());
  const Status refused = other.listen_on(*taken, "127.0.0.1:taken");
  CHECK(refused.code() == ErrorCode::CONFIG);
  CHECK(refused.text().find("127.0.0.1:taken") != std::string::npos);
}

TEST_CASE("HttpServer: the socket has its permissions and leaves with the server",
          "[http_server]") {
  Site site;
  struct stat facts {};
  REQUIRE(stat(site.path().c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  const auto peer = site.connect();
  peer->send(get("/metrics?endless"));
  REQUIRE_IN_TIME(site.run_until([&] { return site.endless_pieces > 0; }));
  site.server->close();
  CHECK_FALSE(std::filesystem::exists(site.path()));
  CHECK(site.server->clients() == 0);
  REQUIRE_IN_TIME(site.run_until([&] { return peer->read(); }));
}

}  // namespace
}  // namespace seqd
