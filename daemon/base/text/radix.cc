#include "daemon/base/text/radix.h"

#include <array>
#include <limits>

namespace seqd {
namespace {

constexpr std::string_view kDigitsAndLetters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

constexpr std::array kAll = {
    Radix(kDigitsAndLetters.substr(0, 10), false, 19, "0-9"),
    Radix(kDigitsAndLetters.substr(0, 16), true, 16, "0-9 A-F"),
    Radix("0123456789ABCDEFGHJKMNPQRSTVWXYZ", true, 13, "0-9 A-Z without U"),
    Radix(kDigitsAndLetters.substr(0, 36), true, 13, "0-9 A-Z"),
    Radix("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", false, 11,
          "1-9 A-Z a-z without I O l"),
    Radix(kDigitsAndLetters, false, 11, "0-9 A-Z a-z"),
};

constexpr unsigned kCrockford = 32;

}  // namespace

const Radix* Radix::find(unsigned base) {
  for (const Radix& radix : kAll) {
    if (radix.base() == base) return &radix;
  }
  return nullptr;
}

int Radix::value(char digit) const {
  if (one_case_ && digit >= 'a' && digit <= 'z') digit = static_cast<char>(digit - 'a' + 'A');
  if (base_ == kCrockford) {
    if (digit == 'I' || digit == 'L') digit = '1';
    if (digit == 'O') digit = '0';
  }
  const std::size_t found = alphabet_.find(digit);
  return found == std::string_view::npos ? -1 : static_cast<int>(found);
}

bool Radix::split(std::uint64_t number, std::span<std::uint8_t> digits) const {
  for (std::size_t at = digits.size(); at > 0; --at) {
    digits[at - 1] = static_cast<std::uint8_t>(number % base_);
    number /= base_;
  }
  return number == 0;
}

std::optional<std::int64_t> Radix::join(std::span<const std::uint8_t> digits) const {
  constexpr auto kHighest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t number = 0;
  for (const std::uint8_t digit : digits) {
    if (number > (kHighest - digit) / base_) return std::nullopt;
    number = number * base_ + digit;
  }
  return static_cast<std::int64_t>(number);
}

std::size_t Radix::length(std::uint64_t number) const {
  std::size_t length = 1;
  while (number >= base_) {
    number /= base_;
    ++length;
  }
  return length;
}

}  // namespace seqd
