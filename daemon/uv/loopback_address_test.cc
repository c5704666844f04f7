#include "daemon/uv/loopback_address.h"

#include <netinet/in.h>

#include <string>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("LoopbackAddressesAreRead", "[loopback_address]") {
  const Result<LoopbackAddress> four = parse_loopback("127.0.0.1:9464");
  REQUIRE(four.ok());
  REQUIRE(four->address.ss_family == AF_INET);
  REQUIRE(four->size == sizeof(sockaddr_in));
  REQUIRE(ntohs(reinterpret_cast<const sockaddr_in*>(&four->address)->sin_port) == 9464);
  const Result<LoopbackAddress> six = parse_loopback("[::1]:65535");
  REQUIRE(six.ok());
  REQUIRE(six->address.ss_family == AF_INET6);
  REQUIRE(ntohs(reinterpret_cast<const sockaddr_in6*>(&six->address)->sin6_port) == 65535);
  REQUIRE(parse_loopback("127.1.2.3:1").ok());
}

TEST_CASE("WhatOtherHostsMayReachIsRefusedByName", "[loopback_address]") {
  for (const char* const text :
       {"0.0.0.0:9464", "192.168.1.1:9464", "128.0.0.1:9464", "126.255.255.255:1", "[::]:9464",
        "[fe80::1]:9464", "[::ffff:127.0.0.1]:9464", "[2001:db8::1]:1"}) {
    INFO(text);
    const Result<LoopbackAddress> parsed = parse_loopback(text);
    REQUIRE(parsed.status().code() == ErrorCode::CONFIG);
    REQUIRE(parsed.status().text().find("other hosts may reach") != std::string::npos);
    REQUIRE(parsed.status().text().find(text) != std::string::npos);
  }
}

TEST_CASE("WhatIsNoAddressIsRefused", "[loopback_address]") {
  for (const char* const text :
       {"", ":", "9464", "localhost:9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
        "127.0.0.1:65536", "127.0.0.1:0", "127.0.0.1:-1", "127.0.0.1: 1", "127.0.0.1:1x", "127.1:1",
        "::1:9464", "[::1]", "[]:1", "[::1:1", "[127.0.0.1]:1", " 127.0.0.1:1"}) {
    INFO(text);
    REQUIRE(parse_loopback(text).status().code() == ErrorCode::CONFIG);
  }
}

}  // namespace
}  // namespace seqd
