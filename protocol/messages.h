// Messages: what a complete frame says in the words of MessagePack-RPC: a request, a reply or a
// notification. Knows no methods. Nothing is copied: texts and readers are views into the frame,
// which must outlive them. Pure functions: any thread.
//
// Invariant: a frame that parses has exactly the parts of its kind, and its readers stand at whole
// values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/errors.h"
#include "protocol/values/value_reader.h"

namespace seqd::protocol {

// One run of a range's answer: first, first + step, ... `count` IDs.
struct Run {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
  bool operator==(const Run&) const = default;
};

struct Message {
  enum class Kind : std::uint8_t { request = 0, reply = 1, notification = 2 };
  Kind kind = Kind::request;
  std::uint32_t msgid = 0;        // requests and replies
  std::string_view method;        // requests and notifications; as sent, not checked
  std::uint32_t param_count = 0;  // requests and notifications
  ValueReader params;             // at the first of param_count values
  ValueReader error;              // replies: at one value, nil when there was no error
  ValueReader result;             // replies: at one value
};

struct [[nodiscard]] ParseOutcome {
  ErrorCode error = ErrorCode::OK;
  std::string_view text;    // lives for ever; what is wrong and what is allowed
  std::uint32_t msgid = 0;  // of a request whose msgid could be read, else 0: answer to this one

  bool ok() const { return error == ErrorCode::OK; }
};

// `frame` is one value as measured by a FrameScanner. After an error the connection is to be
// answered with `msgid`, `error` and `text`, and closed.
ParseOutcome parse_message(std::span<const std::uint8_t> frame, Message& out);

// The msgid of the request that `bytes` begins with, though it is incomplete or refused; 0 when it
// cannot be read. For the answer to a frame that the scanner refused.
std::uint32_t readable_msgid(std::span<const std::uint8_t> bytes);

// For clients: the error of a reply. Nothing when it is nil. A daemon sends [fault, text], but any
// other value is an error too (INTERNAL, with a text that says so). `text` is a view into the
// frame: the words behind "CODE: ".
struct ReplyError {
  ErrorCode code = ErrorCode::INTERNAL;
  std::string_view text;
};
std::optional<ReplyError> read_reply_error(ValueReader error);

// For clients: reads one [first, count, step] of a range's result. Nothing when it is not a run of
// IDs within -2^63 .. 2^63-1.
[[nodiscard]] std::optional<Run> read_run(ValueReader& reader);

}  // namespace seqd::protocol
