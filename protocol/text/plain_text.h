// Makes text fit for people: what an error reply says may hold bytes that the other side, a store
// or a file sent. Pure function: any thread.
//
// Invariant: the result is UTF-8 without control characters, at most as long as asked, and what was
// already so is unchanged up to there.
#pragma once

#include <cstddef>
#include <string_view>

namespace seqd::protocol {

// Writes `text` to `out`, at most `room` bytes, cut between characters. A control character (of
// ASCII or Unicode's C1) and each byte that is not UTF-8 becomes '?'. Gives the bytes written.
std::size_t write_plain_text(std::string_view text, char* out, std::size_t room);

}  // namespace seqd::protocol
