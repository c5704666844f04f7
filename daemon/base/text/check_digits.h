// Check digits: what is put behind a text so that typing mistakes are noticed. Functions
// without state; any thread.
//
// luhn   one digit (ISO/IEC 7812-1): every wrong digit, every swap of neighbours but 09 and 90
// damm   one digit: every wrong digit, every swap of neighbours
// mod97  two digits (ISO/IEC 7064, MOD 97-10; letters count 10 to 35 as in IBAN, small like
//        capital ones): the same, a wrong letter too, and nearly all other mistakes. Not a letter
//        for a digit, and not B1 M2 X3 swapped to 1B 2M 3X, which are the same there
//
// They are computed over the digits of a text (mod97: digits and letters); all else is skipped, so
// that "INV-2026/000042" has the check digit of "2026000042" in luhn and damm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace seqd {

enum class CheckKind : std::uint8_t { none, luhn, damm, mod97 };

// Characters it takes: 0, 1 or 2.
std::size_t check_length(CheckKind kind);
// "luhn"; empty for none.
std::string_view word_of(CheckKind kind);
// The check digits of what stands in `text`; empty for none.
std::string check_digits(CheckKind kind, std::string_view text);

}  // namespace seqd
