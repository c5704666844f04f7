// Token: 128 random bits that name one lease, one return, one instance or one claim for ever. A
// value; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/random.h"

namespace seqd {

using Token = std::array<std::uint8_t, 16>;

Token random_token(Random& random);

// 32 lower-case hexadecimal digits.
std::string to_hex(const Token& token);
// Of those digits; none where `text` is anything else.
std::optional<Token> from_hex(std::string_view text);

}  // namespace seqd
