#include "daemon/base/secrets.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace seqd {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

int hex(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "db1:27017,[::1]:27017": none of it can be a user and a password, which is no number.
bool are_hosts(std::string_view authority) {
  std::size_t begin = 0;
  while (begin <= authority.size()) {
    const std::size_t end = std::min(authority.find(',', begin), authority.size());
    const std::string_view host = authority.substr(begin, end - begin);
    const std::size_t inside = host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0;
    const std::size_t colon = host.find(':', inside);
    if (colon != std::string_view::npos &&
        !std::all_of(host.begin() + static_cast<std::ptrdiff_t>(colon) + 1, host.end(), is_digit))
      return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

std::string masked_address(std::string_view uri) {
  const std::size_t scheme = uri.find("://");
  if (scheme == std::string_view::npos) return std::string(kHidden);
  std::string out(uri.substr(0, scheme + 3));
  std::string_view rest = uri.substr(scheme + 3);
  // The last @: a password that was not percent-encoded may hold some, and so may the options.
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    out.append(kHidden).append("@");
    rest.remove_prefix(at + 1);
  } else if (!are_hosts(rest.substr(0, rest.find_first_of("/?")))) {
    return out.append(kHidden);
  }
  return out.append(rest.substr(0, rest.find('?')));
}

bool is_named_secret(std::string_view name) {
  constexpr std::array<std::string_view, 8> kWords = {
      "password", "passwd", "passphrase", "secret", "token", "authorization", "apikey", "api_key"};
  const std::string small = lower(name);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

std::string hide(std::string text, const std::vector<std::string>& secrets) {
  // The longest first: another one may be a part of it.
  std::vector<std::string_view> ordered(secrets.begin(), secrets.end());
  std::sort(ordered.begin(), ordered.end(),
            [](std::string_view a, std::string_view b) { return a.size() > b.size(); });
  for (const std::string_view secret : ordered) {
    if (secret.empty()) continue;
    for (std::size_t found = text.find(secret); found != std::string::npos;
         found = text.find(secret, found + kHidden.size()))
      text.replace(found, secret.size(), kHidden);
  }
  return text;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int high = text[at] == '%' && at + 2 < text.size() ? hex(text[at + 1]) : -1;
    const int low = high < 0 ? -1 : hex(text[at + 2]);
    if (low < 0) {
      out += text[at];
    } else {
      out += static_cast<char>(high * 16 + low);
      at += 2;
    }
  }
  return out;
}

}  // namespace seqd
