#include "protocol/replies.h"

#include <array>

#include "protocol/limits.h"
#include "protocol/text/plain_text.h"
#include "protocol/values/value_encoding.h"
#include "protocol/values/value_writer.h"

namespace seqd::protocol {
namespace {

constexpr unsigned kFourParts = 0x94;
constexpr unsigned kReply = 0x01;
constexpr unsigned kNil = 0xc0;

// What put_reply_begin() needs at most, with a nil error.
constexpr std::size_t kBeginRoom = 2 + kIntegerRoom + 1;

char* put_reply_begin(char* at, std::uint32_t msgid) {
  at = put_byte(at, kFourParts);
  at = put_byte(at, kReply);
  return put_unsigned(at, msgid);
}

void commit(Buffer& out, const char* begin, const char* end) {
  out.commit(static_cast<std::size_t>(end - begin));
}

}  // namespace

void append_id_reply(Buffer& out, std::uint32_t msgid, std::int64_t id) {
  char* const begin = out.prepare(kBeginRoom + kIntegerRoom);
  char* at = put_reply_begin(begin, msgid);
  at = put_byte(at, kNil);
  commit(out, begin, put_integer(at, id));
}

void append_text_reply(Buffer& out, std::uint32_t msgid, std::string_view text) {
  begin_result(out, msgid);
  append_text(out, text);
}

void append_runs_reply(Buffer& out, std::uint32_t msgid, std::span<const Run> runs) {
  char* const begin = out.prepare(kBeginRoom + kHeaderRoom + runs.size() * (1 + 3 * kIntegerRoom));
  char* at = put_reply_begin(begin, msgid);
  at = put_byte(at, kNil);
  at = put_array_header(at, static_cast<std::uint32_t>(runs.size()));
  for (const Run& run : runs) {
    at = put_array_header(at, 3);
    at = put_integer(at, run.first);
    at = put_integer(at, run.count);
    at = put_integer(at, run.step);
  }
  commit(out, begin, at);
}

void append_error_reply(Buffer& out, std::uint32_t msgid, ErrorCode code, std::string_view text) {
  const ErrorInfo& info = error_info(code);
  std::array<char, kErrorTextBytes> plain;
  const std::size_t plain_size = write_plain_text(text, plain.data(), plain.size());
  const std::size_t text_size = info.name.size() + 2 + plain_size;

  char* const begin = out.prepare(kBeginRoom + 2 + kHeaderRoom);
  char* at = put_reply_begin(begin, msgid);
  at = put_array_header(at, 2);
  at = put_byte(at, static_cast<unsigned>(info.fault));
  commit(out, begin, put_text_header(at, static_cast<std::uint32_t>(text_size)));
  out.append(info.name);
  out.append(": ");
  out.append({plain.data(), plain_size});
  append_nil(out);
}

void begin_result(Buffer& out, std::uint32_t msgid) {
  char* const begin = out.prepare(kBeginRoom);
  char* const at = put_reply_begin(begin, msgid);
  commit(out, begin, put_byte(at, kNil));
}

}  // namespace seqd::protocol
