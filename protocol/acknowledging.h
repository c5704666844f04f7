// How often a client with an identity acknowledges (PROTOCOL.md, section 5). Pure data: any thread.
#pragma once

#include <cstddef>

namespace seqd::protocol {

// Answers. The clients of a user keep what they have not acknowledged in a room that is theirs
// together, and there may be thousands of them.
inline constexpr std::size_t kAcknowledgeEvery = 8;

}  // namespace seqd::protocol
