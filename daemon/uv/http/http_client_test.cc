#include "daemon/uv/http/http_client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <optional>

#include "daemon/uv/event_loop.h"
#include "tests/adapters/canned_server.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::CannedServer;

HttpReply post(EventLoop& loop, UvHttpClient& client, const std::string& url,
               std::int64_t timeout_ms = 10'000) {
  HttpRequest request;
  request.url = url;
  request.body = "{}";
  request.headers = {"X-Test: yes"};
  request.timeout_ms = timeout_ms;
  std::optional<HttpReply> answer;
  client.send(request, [&](HttpReply reply) {
    answer = std::move(reply);
    loop.stop();
  });
  REQUIRE_FALSE(answer.has_value());  // never before the call returned
  REQUIRE_FALSE(client.quiet());
  loop.run();
  REQUIRE(answer.has_value());
  REQUIRE(client.quiet());
  return *answer;
}

std::string reply(const std::string& status, const std::string& body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

TEST_CASE("HttpClient: a request is sent whole, and its answer comes whole", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  CannedServer server({reply("200 OK", "first"), reply("400 Bad", "second")});
  const HttpReply first = post(loop, client, server.url());
  REQUIRE(first.status == 200);
  REQUIRE(first.body == "first");
  const HttpReply second = post(loop, client, server.url());  // on the same connection
  REQUIRE(second.status == 400);
  REQUIRE(second.body == "second");
  const std::string request = server.requests()[0];
  REQUIRE(request.starts_with("POST / HTTP/1.1\r\n"));
  REQUIRE(request.find("X-Test: yes\r\n") != std::string::npos);
  REQUIRE(request.ends_with("\r\n\r\n{}"));
  REQUIRE(server.connections() == 1);
}

TEST_CASE("HttpClient: other methods are sent as they are", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  CannedServer server({reply("200 OK", "got"), reply("200 OK", "put"), reply("200 OK", "posted")});
  for (const char* const method : {"GET", "PUT"}) {
    HttpRequest request;
    request.method = method;
    request.url = server.url() + "a/b?c=d";
    request.headers = {"X-Test: yes", "Content-Type:"};
    request.timeout_ms = 10'000;
    client.send(request, [&](const HttpReply& answer) {
      REQUIRE(answer.status == 200);
      loop.stop();
    });
    loop.run();
  }
  REQUIRE(post(loop, client, server.url()).body == "posted");
  const auto requests = server.requests();
  REQUIRE(requests[0].starts_with("GET /a/b?c=d HTTP/1.1\r\n"));
  REQUIRE(requests[0].find("Content-") == std::string::npos);
  REQUIRE(requests[1].starts_with("PUT /a/b?c=d HTTP/1.1\r\n"));
  REQUIRE(requests[1].find("Content-Length: 0\r\n") != std::string::npos);
  REQUIRE(requests[1].find("Content-Type") == std::string::npos);
  REQUIRE(requests[2].starts_with("POST / HTTP/1.1\r\n"));
  REQUIRE(server.connections() == 1);
}

TEST_CASE("HttpClient: where nobody listens nothing was sent", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  std::string url;
  {
    const CannedServer gone({});
    url = gone.url();
  }
  const HttpReply answer = post(loop, client, url);
  REQUIRE(answer.status == 0);
  REQUIRE_FALSE(answer.sent);
  REQUIRE_FALSE(answer.error.empty());
}

TEST_CASE("HttpClient: what cannot be asked for is not sent", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  for (const char* const url : {"", "file:///etc/passwd", "gopher://127.0.0.1/", "http://[bad"}) {
    INFO(url);
    const HttpReply answer = post(loop, client, url);
    REQUIRE(answer.status == 0);
    REQUIRE_FALSE(answer.sent);
  }
}

TEST_CASE("HttpClient: a connection that ends before the answer leaves it open", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  const char* const partial =
      GENERATE("", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nha", "this is not HTTP\r\n\r\n");
  CannedServer server({partial}, CannedServer::Then::close);
  const HttpReply answer = post(loop, client, server.url());
  REQUIRE(answer.status == 0);
  REQUIRE(answer.sent);
}

TEST_CASE("HttpClient: an answer that does not come ends with the time allowed", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  CannedServer server({""}, CannedServer::Then::wait);
  const HttpReply answer = post(loop, client, server.url(), 5'000);
  REQUIRE(answer.status == 0);
  REQUIRE(answer.sent);
}

TEST_CASE("HttpClient: an answer without end is cut off", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  const std::string much(UvHttpClient::kMostReply + 1, 'x');
  const std::string endless = GENERATE_COPY(
      reply("200 OK", much), std::string("HTTP/1.1 200 OK\r\nX: ") + much + "\r\n\r\n");
  CannedServer server({endless});
  const HttpReply answer = post(loop, client, server.url());
  REQUIRE(answer.status == 0);
  REQUIRE(answer.sent);
  REQUIRE(answer.body.empty());
}

TEST_CASE("HttpClient: a redirection is an answer, and is not followed", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  CannedServer other({reply("200 OK", "followed")});
  CannedServer server(
      {"HTTP/1.1 307 Elsewhere\r\nLocation: " + other.url() + "\r\nContent-Length: 0\r\n\r\n"});
  REQUIRE(post(loop, client, server.url()).status == 307);
  REQUIRE(other.requests().empty());
}

TEST_CASE("HttpClient: a proxy of the environment is not used", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  CannedServer proxy({reply("200 OK", "by way of it")});
  setenv("http_proxy", proxy.url().c_str(), 1);
  CannedServer server({reply("200 OK", "direct")});
  const HttpReply answer = post(loop, client, server.url());
  unsetenv("http_proxy");
  REQUIRE(answer.body == "direct");
  REQUIRE(proxy.connections() == 0);
}

TEST_CASE("HttpClient: a request whose connection is closed is not sent again", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 4);
  CannedServer server({reply("200 OK", "1"), "", reply("200 OK", "again")});
  REQUIRE(post(loop, client, server.url()).status == 200);
  const HttpReply answer = post(loop, client, server.url());
  REQUIRE(answer.status == 0);
  REQUIRE(answer.sent);
  REQUIRE(server.requests().size() == 2);
  REQUIRE(post(loop, client, server.url()).body == "again");
}

TEST_CASE("HttpClient: requests above the number of connections wait their turn", "[http]") {
  EventLoop loop;
  UvHttpClient client(loop, 2);
  std::vector<std::string> replies(20, reply("200 OK", "x"));
  CannedServer server(replies);
  int answered = 0;
  for (int i = 0; i < 20; ++i) {
    HttpRequest request;
    request.url = server.url();
    request.timeout_ms = 10'000;
    client.send(request, [&](const HttpReply& answer) {
      answered += answer.status == 200 ? 1 : 0;
      if (client.quiet()) loop.stop();
    });
  }
  loop.run();
  REQUIRE(answered == 20);
  REQUIRE(server.connections() <= 2);
}

TEST_CASE("HttpClient: a client that goes drops what is under way", "[http]") {
  EventLoop loop;
  bool answered = false;
  CannedServer server({""}, CannedServer::Then::wait);
  {
    UvHttpClient client(loop, 2);
    HttpRequest request;
    request.url = server.url();
    request.timeout_ms = 10'000;
    client.send(request, [&](const HttpReply&) { answered = true; });
    while (server.connections() == 0) uv_run(loop.raw(), UV_RUN_NOWAIT);
  }
  REQUIRE_FALSE(answered);
}

}  // namespace
}  // namespace seqd
