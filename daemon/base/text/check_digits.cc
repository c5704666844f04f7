#include "daemon/base/text/check_digits.h"

#include <array>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

char luhn(std::string_view text) {
  unsigned sum = 0;
  bool twice = true;  // the digit beside the check digit counts twice
  for (std::size_t at = text.size(); at > 0; --at) {
    const char c = text[at - 1];
    if (!is_digit(c)) continue;
    const auto digit = static_cast<unsigned>(c - '0');
    sum += twice ? digit * 2 / 10 + digit * 2 % 10 : digit;
    twice = !twice;
  }
  return static_cast<char>('0' + (10 - sum % 10) % 10);
}

// The quasigroup of Damm's thesis: totally anti-symmetric, with zeros in its diagonal.
constexpr std::array<std::string_view, 10> kDamm = {
    "0317598642", "7092154863", "4206871359", "1750983426", "6123045978",
    "3674209581", "5869720134", "8945362017", "9438617205", "2581436790"};

char damm(std::string_view text) {
  char interim = '0';
  for (const char c : text) {
    if (!is_digit(c)) continue;
    interim = kDamm[static_cast<std::size_t>(interim - '0')][static_cast<std::size_t>(c - '0')];
  }
  return interim;
}

// The value of a digit or letter; -1 for all else.
int mod97_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  return -1;
}

std::string mod97(std::string_view text) {
  unsigned rest = 0;
  for (const char c : text) {
    const int value = mod97_value(c);
    if (value < 0) continue;
    rest = (rest * (value < 10 ? 10 : 100) + static_cast<unsigned>(value)) % 97;
  }
  const unsigned check = 98 - rest * 100 % 97;
  return {static_cast<char>('0' + check / 10), static_cast<char>('0' + check % 10)};
}

}  // namespace

std::size_t check_length(CheckKind kind) {
  if (kind == CheckKind::none) return 0;
  return kind == CheckKind::mod97 ? 2 : 1;
}

std::string_view word_of(CheckKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"", "luhn", "damm", "mod97"};
  ASSERT(static_cast<std::size_t>(kind) < kNames.size());
  return kNames[static_cast<std::size_t>(kind)];
}

std::string check_digits(CheckKind kind, std::string_view text) {
  switch (kind) {
    case CheckKind::luhn:
      return {luhn(text)};
    case CheckKind::damm:
      return {damm(text)};
    case CheckKind::mod97:
      return mod97(text);
    case CheckKind::none:
      break;
  }
  return {};
}

}  // namespace seqd
