// IdTemplate: how the IDs of a sequence look as text, "INV-{date:%y%m%d}-{number:6}{check:luhn}".
//
//   {date:FORMAT}    date parts, % and a letter of id_date.h each, and what stands between them
//   {number}         the number, exactly once; {number:6} fills it up with zeros to 6 digits,
//                    {number:8,base32,scramble}: options in any order
//   {key}            the number of the key that scrambles, 1 to 9; at most once
//   {check:KIND}     check digits of all that stands before; luhn, damm or mod97; at most once
//   {{ and }}        a brace; all else stands for itself
//
// Invariant: everything but the number has a fixed length, so a text is read from both ends, and
// one text has one number. A value; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/base/text/check_digits.h"
#include "daemon/base/text/radix.h"
#include "daemon/core/text/id_date.h"

namespace seqd {

struct IdTemplate {
  enum class Kind : std::uint8_t { literal, date, number, check, key };
  struct Piece {
    Kind kind = Kind::literal;
    std::string literal;  // of a literal, at least one character
    DatePart part = DatePart::year;
    std::size_t length = 0;  // characters in the ID; of the number, at least so many
    std::size_t place = 0;   // where it begins in the template, from 0
  };

  std::vector<Piece> pieces;
  const Radix* radix = nullptr;  // never null once read
  std::size_t width = 0;         // digits of the number, at least; 0: not given, as many as it has
  bool scramble = false;
  bool tells_key = false;  // {key} is there
  CheckKind check = CheckKind::none;
};

inline constexpr std::size_t kMostTemplate = 255;  // characters
// Below this many numbers FF1 does not hide them well (SP 800-38G, revision 1).
inline constexpr std::uint64_t kLeastScrambled = 1'000'000;

// CONFIG, with the position in the template, what was found and what is allowed.
Result<IdTemplate> read_template(std::string_view text);

}  // namespace seqd
