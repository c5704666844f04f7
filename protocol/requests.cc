#include "protocol/requests.h"

#include <cstring>

#include "protocol/values/value_encoding.h"
#include "protocol/values/value_writer.h"

namespace seqd::protocol {
namespace {

constexpr unsigned kRequest = 0;
constexpr std::int64_t kNotification = 2;

constexpr std::size_t kBeginRoom = 2 + kIntegerRoom + 2 * kHeaderRoom;  // without the method

static_assert(kFrontRoom == 2 + kIntegerRoom);

// [0, msgid, ...
char* put_front(char* at, std::uint32_t msgid) {
  at = put_array_header(at, 4);
  at = put_byte(at, kRequest);
  return put_unsigned(at, msgid);
}

// method, [ ... : `params` values have to follow.
char* put_method(char* at, std::string_view method, std::uint32_t params) {
  return put_array_header(put_text(at, method), params);
}

char* put_begin(char* at, std::uint32_t msgid, std::string_view method, std::uint32_t params) {
  return put_method(put_front(at, msgid), method, params);
}

void begin_request(Buffer& out, std::uint32_t msgid, std::string_view method,
                   std::uint32_t params) {
  char* const begin = out.prepare(kBeginRoom + method.size());
  out.commit(static_cast<std::size_t>(put_begin(begin, msgid, method, params) - begin));
}

constexpr std::string_view kTimeout = "timeout_ms";
constexpr std::size_t kOptionsRoom = 2 * kHeaderRoom + kTimeout.size() + kIntegerRoom;

char* put_options(char* at, std::optional<std::int64_t> timeout_ms) {
  if (!timeout_ms) return at;
  at = put_map_header(at, 1);
  at = put_text(at, kTimeout);
  return put_integer(at, *timeout_ms);
}

void append_options(Buffer& out, std::optional<std::int64_t> timeout_ms) {
  char* const begin = out.prepare(kOptionsRoom);
  out.commit(static_cast<std::size_t>(put_options(begin, timeout_ms) - begin));
}

std::size_t named_room(std::string_view method, std::string_view name) {
  return kBeginRoom + method.size() + kHeaderRoom + name.size() + kOptionsRoom;
}

char* put_named_rest(char* at, std::string_view method, std::string_view name,
                     std::optional<std::int64_t> timeout_ms) {
  at = put_method(at, method, timeout_ms ? 2 : 1);
  return put_options(put_text(at, name), timeout_ms);
}

// A whole request with a name; the most frequent ones are written at one go.
void append_named(Buffer& out, std::uint32_t msgid, std::string_view method, std::string_view name,
                  std::optional<std::int64_t> timeout_ms) {
  char* const begin = out.prepare(named_room(method, name));
  const char* const end = put_named_rest(put_front(begin, msgid), method, name, timeout_ms);
  out.commit(static_cast<std::size_t>(end - begin));
}

}  // namespace

void append_hello(Buffer& out, std::uint32_t msgid, const Hello& hello) {
  begin_request(out, msgid, "hello", 1);
  append_map(out, (hello.client ? 1U : 0U) + (hello.name.empty() ? 0U : 1U));
  if (hello.client) {
    append_text(out, "client");
    append_binary(out, {reinterpret_cast<const char*>(hello.client->data()), kIdentityBytes});
  }
  if (!hello.name.empty()) {
    append_text(out, "name");
    append_text(out, hello.name);
  }
}

void append_next(Buffer& out, std::uint32_t msgid, std::string_view name,
                 std::optional<std::int64_t> timeout_ms) {
  append_named(out, msgid, "next", name, timeout_ms);
}

void append_next_rest(Buffer& out, std::string_view name, std::optional<std::int64_t> timeout_ms) {
  char* const begin = out.prepare(named_room("next", name) + kRestStep);
  char* const end = put_named_rest(begin, "next", name, timeout_ms);
  std::memset(end, 0, kRestStep);
  out.commit(static_cast<std::size_t>(end - begin));
}

void append_with_rest(Buffer& out, std::uint32_t first_msgid, std::size_t count,
                      std::string_view rest) {
  char* const begin = out.prepare(count * (kFrontRoom + rest.size()) + kRestStep);
  char* at = begin;
  const char* const from = rest.data();
  const std::size_t size = rest.size();
  for (; count > 0; --count) {
    at = put_front(at, first_msgid++);
    // The next request is written over what is too much.
    for (std::size_t done = 0; done < size; done += kRestStep)
      std::memcpy(at + done, from + done, kRestStep);
    at += size;
  }
  out.commit(static_cast<std::size_t>(at - begin));
}

void append_next_text(Buffer& out, std::uint32_t msgid, std::string_view name,
                      std::optional<std::int64_t> timeout_ms) {
  append_named(out, msgid, "next_text", name, timeout_ms);
}

void append_range(Buffer& out, std::uint32_t msgid, std::string_view name, std::int64_t count,
                  std::optional<std::int64_t> timeout_ms) {
  begin_request(out, msgid, "range", timeout_ms ? 3 : 2);
  append_text(out, name);
  append_integer(out, count);
  append_options(out, timeout_ms);
}

void append_insert(Buffer& out, std::uint32_t msgid, std::string_view name,
                   std::string_view document, const InsertOptions& options) {
  const std::uint32_t pairs = (options.timeout_ms ? 1U : 0U) +
                              (options.connection.empty() ? 0U : 1U) +
                              (options.unique.empty() ? 0U : 1U);
  begin_request(out, msgid, "insert", pairs == 0 ? 2 : 3);
  append_text(out, name);
  out.append(document);
  if (pairs == 0) return;
  append_map(out, pairs);
  if (options.timeout_ms) {
    append_text(out, "timeout_ms");
    append_integer(out, *options.timeout_ms);
  }
  if (!options.connection.empty()) {
    append_text(out, "connection");
    append_text(out, options.connection);
  }
  if (options.unique.empty()) return;
  append_text(out, "unique");
  append_text(out, options.unique);
}

void append_peek(Buffer& out, std::uint32_t msgid, std::string_view name) {
  begin_request(out, msgid, "peek", 1);
  append_text(out, name);
}

void append_ack(Buffer& out, std::uint32_t below) {
  append_array(out, 3);
  append_integer(out, kNotification);
  append_text(out, "ack");
  append_array(out, 1);
  append_integer(out, below);
}

void append_call(Buffer& out, std::uint32_t msgid, std::string_view method) {
  begin_request(out, msgid, method, 0);
}

}  // namespace seqd::protocol
