// Radix: how numbers are written in base 10, 16, 32, 36, 58 or 62, and read again. Base 32 is
// Crockford's, base 58 is Bitcoin's. Where an alphabet has capital letters only, small ones are
// read as them; Crockford's reads I and L as 1 and O as 0, which it does not have. Constants; any
// thread.
//
// Invariant: write() gives exactly one text for a number and a width, and value() knows each of its
// digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace seqd {

class Radix {
 public:
  // Of the highest ID in the smallest base.
  static constexpr std::size_t kMostDigits = 19;

  // Null when numbers are not written in that base.
  static const Radix* find(unsigned base);
  // "10, 16, 32, 36, 58, 62", for the texts of errors.
  static std::string_view all_bases() { return "10, 16, 32, 36, 58, 62"; }

  unsigned base() const { return base_; }
  char digit(unsigned value) const { return alphabet_[value]; }
  // -1 when it is no digit.
  int value(char digit) const;
  // What may be read, for the texts of errors.
  std::string_view description() const { return description_; }
  // Digits that every ID, up to 2^63-1, can be written with.
  std::size_t longest() const { return longest_; }

  // The digits of `number` as values, the highest first, filled up with zeros; false when there are
  // more than `digits` can hold.
  bool split(std::uint64_t number, std::span<std::uint8_t> digits) const;
  // The number of these digits; nothing when it is above 2^63-1.
  std::optional<std::int64_t> join(std::span<const std::uint8_t> digits) const;
  // How many digits the number has; 1 for 0.
  std::size_t length(std::uint64_t number) const;

  // `longest` of 2^63-1 is checked by a test. Only for the table of all bases.
  constexpr Radix(std::string_view alphabet, bool one_case, std::size_t longest,
                  std::string_view description)
      : alphabet_(alphabet),
        base_(static_cast<unsigned>(alphabet.size())),
        one_case_(one_case),
        longest_(longest),
        description_(description) {}

 private:
  std::string_view alphabet_;
  unsigned base_;
  bool one_case_;
  std::size_t longest_;
  std::string_view description_;
};

}  // namespace seqd
