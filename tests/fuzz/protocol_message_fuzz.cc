// What the fast path accepts has to mean the same on the slow path, and a message of any bytes,
// whole or not, is parsed without a read beyond them. An error that is answered has to be a reply
// that our own client understands.
//
// link: protocol protocol/*
// seeds: tests/fuzz/protocol_seeds.py
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "protocol/fast/fast_request.h"
#include "protocol/frame_scanner.h"
#include "protocol/limits.h"
#include "protocol/messages.h"
#include "protocol/replies.h"
#include "protocol/text/names.h"

namespace {

using seqd::ErrorCode;
using namespace seqd::protocol;

void require(bool condition) {
  if (!condition) std::abort();
}

// Parses without having measured: the bytes may be anything.
void parse_unmeasured(std::span<const std::uint8_t> bytes) {
  Message message;
  const ParseOutcome outcome = parse_message(bytes, message);
  require(outcome.ok() == outcome.text.empty());
  if (!outcome.ok()) {
    require(outcome.msgid == readable_msgid(bytes));
    return;
  }
  if (message.kind == Message::Kind::reply) {
    const auto error = read_reply_error(message.error);
    require(!error || error->code != ErrorCode::OK);
    if (message.result.read_array()) {
      while (read_run(message.result)) {
      }
    }
    return;
  }
  ValueReader params = message.params;
  for (std::uint32_t param = 0; param < message.param_count && params.skip(); ++param) {
  }
}

void compare_paths(std::span<const std::uint8_t> bytes) {
  FastParser parser;
  const FastRequest& fast = parser.request();
  const std::size_t consumed = parser.parse(bytes);
  if (consumed == 0) return;
  // What it is now known by means the same.
  const FastRequest first{fast};
  require(parser.parse(bytes) == consumed && fast.name == first.name);
  FrameScanner scanner(FrameLimits{1'024, 4});
  const ScanResult scanned = scanner.scan(bytes);
  require(scanned.kind == ScanResult::Kind::complete && scanned.size == consumed);
  Message message;
  require(parse_message(bytes.first(consumed), message).ok());
  require(message.kind == Message::Kind::request && message.msgid == fast.msgid);
  const bool range = fast.method == FastRequest::Method::range;
  require(message.method == (range ? "range" : "next"));
  const bool timed = fast.timeout_ms >= 0;
  require(message.param_count == (range ? 2U : 1U) + (timed ? 1U : 0U));
  require(message.params.read_text() == fast.name);
  require(range ? message.params.read_integer() == fast.count : fast.count == 1);
  if (timed) {
    require(message.params.read_map() == 1U && message.params.read_text() == "timeout_ms");
    require(message.params.read_integer() == fast.timeout_ms && fast.timeout_ms <= kMaxTimeoutMs);
  }
  require(message.params.at_end());
}

// The bytes as the text of an error: what is written has to be a whole reply.
void answer_with(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  (void)check_sequence_name(text);
  Buffer buffer;
  append_error_reply(buffer, 70'000, ErrorCode::INTERNAL, text);
  FrameScanner scanner(FrameLimits{1'024, 4});
  require(scanner.scan(buffer.bytes()).size == buffer.size());
  Message message;
  require(parse_message(buffer.bytes(), message).ok() && message.msgid == 70'000);
  require(read_reply_error(message.error)->code == ErrorCode::INTERNAL);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  parse_unmeasured(bytes);
  compare_paths(bytes);
  answer_with(bytes);
  return 0;
}
