#include "protocol/values/value_writer.h"

#include <limits>

#include "protocol/values/value_encoding.h"

namespace seqd::protocol {
namespace {

constexpr std::size_t kLongest = std::numeric_limits<std::uint32_t>::max();

// Commits what was put behind `begin`, which prepare() gave.
void commit(Buffer& out, const char* begin, const char* end) {
  out.commit(static_cast<std::size_t>(end - begin));
}

}  // namespace

void append_nil(Buffer& out) {
  out.append_byte(0xc0);
}

void append_bool(Buffer& out, bool value) {
  out.append_byte(value ? 0xc3 : 0xc2);
}

void append_integer(Buffer& out, std::int64_t value) {
  char* const begin = out.prepare(kIntegerRoom);
  commit(out, begin, put_integer(begin, value));
}

void append_text(Buffer& out, std::string_view text) {
  text = text.substr(0, kLongest);
  char* const begin = out.prepare(kHeaderRoom + text.size());
  commit(out, begin, put_text(begin, text));
}

void append_binary(Buffer& out, std::string_view bytes) {
  bytes = bytes.substr(0, kLongest);
  char* const begin = out.prepare(kHeaderRoom);
  commit(out, begin, put_binary_header(begin, static_cast<std::uint32_t>(bytes.size())));
  out.append(bytes);
}

void append_array(Buffer& out, std::uint32_t count) {
  char* const begin = out.prepare(kHeaderRoom);
  commit(out, begin, put_array_header(begin, count));
}

void append_map(Buffer& out, std::uint32_t pairs) {
  char* const begin = out.prepare(kHeaderRoom);
  commit(out, begin, put_map_header(begin, pairs));
}

}  // namespace seqd::protocol
