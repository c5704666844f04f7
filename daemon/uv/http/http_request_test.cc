#include "daemon/uv/http/http_request.h"

#include <cstddef>
#include <string>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace std::string_literals;
using Found = HttpRequestParser::Found;

Found found_in(std::string_view bytes) {
  HttpRequestParser parser;
  return parser.take(bytes);
}

TEST_CASE("HttpRequest: a head is read whole or byte by byte", "[http_server]") {
  const std::string bytes =
      "GET /metrics?a=b HTTP/1.1\r\nHost: localhost\r\naccept: text/plain\r\n"
      "ACCEPT:  application/openmetrics-text \r\nX: \xff\r\n\r\nrest";
  const std::size_t head = bytes.size() - 4;
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    HttpRequestParser parser;
    Found found = Found::part;
    std::size_t at = 0;
    for (; found == Found::part; at += step) {
      REQUIRE(at < bytes.size());
      found = parser.take(std::string_view(bytes).substr(at, step));
    }
    REQUIRE(found == Found::whole);
    CHECK(at >= head);
    CHECK(parser.head().method == "GET");
    CHECK(parser.head().target == "/metrics?a=b");
    CHECK(parser.head().accept == "text/plain,application/openmetrics-text");
    CHECK(parser.head().chunks);
  }
}

TEST_CASE("HttpRequest: HTTP/1.0 has no chunks", "[http_server]") {
  HttpRequestParser parser;
  REQUIRE(parser.take("HEAD / HTTP/1.0\r\n\r\n") == Found::whole);
  CHECK_FALSE(parser.head().chunks);
  CHECK(parser.head().method == "HEAD");
}

TEST_CASE("HttpRequest: what announces a body ends with its head", "[http_server]") {
  for (const char* const header : {"Content-Length: 5", "Content-Length: 18446744073709551615",
                                   "Transfer-Encoding: chunked"}) {
    INFO(header);
    CHECK(found_in("POST / HTTP/1.1\r\n"s + header + "\r\n\r\n") == Found::whole);
  }
}

TEST_CASE("HttpRequest: what is no request is bad", "[http_server]") {
  for (const std::string& bytes :
       {"\x94\x00\x01\xa4next\x91\xa6orders\r\n\r\n"s, "GET\r\n\r\n"s, "GET / HTTP/2.0\r\n\r\n"s,
        "GET / HTTP/1.1\r\nno colon\r\n\r\n"s, "GET / HTTP/1.1\r\n: nothing\r\n\r\n"s,
        "GET /\0 HTTP/1.1\r\n\r\n"s, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"s,
        "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"s}) {
    INFO(bytes);
    CHECK(found_in(bytes) == Found::bad);
  }
}

TEST_CASE("HttpRequest: a head has a bound, however it comes", "[http_server]") {
  const std::string endless(3 * HttpRequestParser::kMostBytes, 'a');
  CHECK(found_in("GET /" + endless) == Found::too_large);
  CHECK(found_in("GET / HTTP/1.1\r\nX: " + endless) == Found::too_large);
  std::string many = "GET / HTTP/1.1\r\n";
  while (many.size() <= HttpRequestParser::kMostBytes) many += "A: b\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{100}, many.size()}) {
    HttpRequestParser parser;
    Found found = Found::part;
    for (std::size_t at = 0; found == Found::part; at += step) {
      REQUIRE(at < many.size());
      found = parser.take(std::string_view(many).substr(at, step));
    }
    CHECK(found == Found::too_large);
  }
}

}  // namespace
}  // namespace seqd
