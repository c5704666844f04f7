// UTF-8 as Unicode defines it: no longer form than needed, no surrogates, nothing above U+10FFFF.
// Zero bytes are characters like others. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace seqd::protocol {

// The length of the well-formed character at the front of `text` (not empty), 0 when there is none.
std::size_t utf8_length(std::string_view text);

// Where the first byte stands that belongs to no well-formed character; text.size() when all do.
std::size_t first_invalid_utf8(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace seqd::protocol
