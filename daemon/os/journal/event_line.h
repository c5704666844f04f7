// An event as one line of text: bounded, and without control characters, so that a name or an error
// text cannot forge a second line. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "daemon/base/events.h"

namespace seqd {

inline constexpr std::size_t kMaxEventField = 1500;  // bytes of one field or text
inline constexpr std::size_t kMaxEventFields = 32;
inline constexpr std::size_t kMaxEventLine = 4000;  // below PIPE_BUF: a pipe takes it whole

// `text` with control characters and broken UTF-8 as \n, \t or \xNN, and cut with "..." when it is
// longer than `limit` bytes.
std::string escape_line(std::string_view text, std::size_t limit = kMaxEventField);

// "lease_failed: text sequence=orders store=main": fields in lower case, values with spaces in
// quotes. No newline at the end.
std::string event_line(const Event& event);

// Whether journald would accept it: upper-case letters, digits and _, not beginning with _ or a
// digit, at most 64 bytes.
bool valid_field_name(std::string_view name);

}  // namespace seqd
