// Writes single MessagePack values, always in their shortest encoding. What replies.h and
// requests.h are made of, and enough for the other replies too. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/buffer.h"

namespace seqd::protocol {

void append_nil(Buffer& out);
void append_bool(Buffer& out, bool value);
void append_integer(Buffer& out, std::int64_t value);
// As str; the caller vouches for UTF-8. Above 2^32-1 bytes the text is cut.
void append_text(Buffer& out, std::string_view text);
void append_binary(Buffer& out, std::string_view bytes);
// The header only: `count` values, or pairs, have to follow.
void append_array(Buffer& out, std::uint32_t count);
void append_map(Buffer& out, std::uint32_t pairs);

}  // namespace seqd::protocol
