#include "daemon/uv/loopback_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace seqd {
namespace {

// All of 127.0.0.0/8 is this host.
constexpr std::uint32_t kLoopbackNet = 127;

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && port != 0 ? std::optional(port) : std::nullopt;
}

template <typename Address>
LoopbackAddress stored(const Address& address) {
  LoopbackAddress out;
  std::memcpy(&out.address, &address, sizeof address);
  out.size = sizeof address;
  return out;
}

}  // namespace

Result<LoopbackAddress> parse_loopback(const std::string& text) {
  const auto refused = [&text](const std::string& why) {
    return Status(ErrorCode::CONFIG, "found \"" + text + "\"" + why +
                                         "; allowed: an address of loopback with a port, "
                                         "as \"127.0.0.1:9464\" or \"[::1]:9464\"");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return refused(", which has no port");
  const std::optional<std::uint16_t> port = parse_port(std::string_view(text).substr(colon + 1));
  if (!port) return refused(", whose port is not a number within 1 .. 65535");
  const std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(*port);
    if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six.sin6_addr) != 1)
      return refused(", which is not an address");
    if (!IN6_IS_ADDR_LOOPBACK(&six.sin6_addr)) return refused(", which other hosts may reach");
    return stored(six);
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(*port);
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) != 1)
    return refused(", which is not an address");
  if (ntohl(four.sin_addr.s_addr) >> 24 != kLoopbackNet)
    return refused(", which other hosts may reach");
  return stored(four);
}

}  // namespace seqd
