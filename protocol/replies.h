// Writes replies. The hot ones (an ID, runs, an error) are written whole; for the others
// begin_result() writes what stands before the result. Every integer has its shortest encoding.
// Pure functions: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/buffer.h"
#include "protocol/errors.h"
#include "protocol/messages.h"

namespace seqd::protocol {

// [1, msgid, nil, id]
void append_id_reply(Buffer& out, std::uint32_t msgid, std::int64_t id);

// [1, msgid, nil, [[first, count, step], ...]]
void append_runs_reply(Buffer& out, std::uint32_t msgid, std::span<const Run> runs);

// [1, msgid, nil, text]
void append_text_reply(Buffer& out, std::uint32_t msgid, std::string_view text);

// [1, msgid, [fault, "CODE: text"], nil]. `code` must not be OK; the fault is the catalogue's. The
// text is cut to kErrorTextBytes between characters, and what is not UTF-8, or is a control
// character, becomes '?': it is shown to people and may hold what the other side sent.
void append_error_reply(Buffer& out, std::uint32_t msgid, ErrorCode code, std::string_view text);

// [1, msgid, nil, ... : exactly one value has to follow, by value_writer.h or by a
// msgpack::packer<Buffer>.
void begin_result(Buffer& out, std::uint32_t msgid);

}  // namespace seqd::protocol
