#include "daemon/store/dynamo/credentials/aws_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace seqd {
namespace {

constexpr std::size_t kMostUrl = 2000;  // bytes

constexpr std::array<std::string_view, 7> kNear = {
    "localhost",       "[::1]",          "169.254.170.2",  "169.254.170.23",
    "169.254.169.254", "[fd00:ec2::23]", "[fd00:ec2::254]"};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_near(const std::string& host) {
  if (std::find(kNear.begin(), kNear.end(), host) != kNear.end()) return true;
  // Four decimal numbers, and nothing that one resolver reads as an address and another does not.
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && host.starts_with("127.");
}

bool is_host(std::string_view host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    const std::string_view inside = host.substr(1, host.size() - 2);
    return inside.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  }
  return !host.empty() && host.size() <= 255 && std::all_of(host.begin(), host.end(), [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '-';
  });
}

bool is_port(std::string_view port) {
  return !port.empty() && port.size() <= 5 &&
         port.find_first_not_of("0123456789") == std::string_view::npos;
}

Status refused(const std::string& what) {
  return {ErrorCode::UNAVAILABLE, what};
}

}  // namespace

bool is_one_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Status check_aws_address(std::string_view url) {
  const Status malformed =
      refused("allowed is https://HOST[:PORT][/PATH] or http:// for this host");
  const bool secure = url.starts_with("https://");
  if (url.size() > kMostUrl || (!secure && !url.starts_with("http://"))) return malformed;
  std::string_view rest = url.substr(secure ? 8 : 7);
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view path = rest.substr(end);
  rest = rest.substr(0, end);
  if (!is_one_word(path) || path.find_first_of("\\#") != std::string_view::npos) return malformed;
  // The colons of an address in brackets belong to it.
  const std::size_t inside = rest.starts_with('[') ? std::min(rest.find(']'), rest.size()) : 0;
  const std::size_t at = rest.find(':', inside);
  if (at != std::string_view::npos && !is_port(rest.substr(at + 1))) return malformed;
  const std::string host(rest.substr(0, at));
  if (!is_host(host)) return malformed;
  if (secure || is_near(host)) return {};
  return refused(
      "http is allowed for localhost and the link-local addresses of containers and "
      "instances only, as credentials would go there in the clear; use https");
}

std::string form_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

bool is_aws_region(std::string_view region) {
  return !region.empty() && region.size() <= 40 &&
         std::all_of(region.begin(), region.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

std::string aws_domain_of(std::string_view region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

}  // namespace seqd
