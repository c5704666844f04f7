// Writes requests: the client's side of the wire. Nothing is checked that the daemon checks, but
// what is written is always whole and well-formed. Pure functions: any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/buffer.h"
#include "protocol/limits.h"

namespace seqd::protocol {

// The identity by which a client may repeat requests: 16 random bytes, chosen once per client
// object.
using Identity = std::array<std::uint8_t, kIdentityBytes>;

struct Hello {
  std::optional<Identity> client;
  std::string_view name;  // for people; empty: not sent
};

// [0, msgid, "hello", [{...}]]
void append_hello(Buffer& out, std::uint32_t msgid, const Hello& hello);

// [0, msgid, "next", [name]] or [0, msgid, "next", [name, {"timeout_ms": n}]]
void append_next(Buffer& out, std::uint32_t msgid, std::string_view name,
                 std::optional<std::int64_t> timeout_ms = std::nullopt);

// The same in two parts: what follows the msgid, which many requests have in common; and `count`
// requests with such a rest, whose msgids follow each other. A rest is copied in whole steps of
// kRestStep: behind it append_next_rest() leaves bytes that may be read for that, until `out`
// changes. In front of it are at most kFrontRoom bytes.
inline constexpr std::size_t kFrontRoom = 11;
inline constexpr std::size_t kRestStep = 32;
void append_next_rest(Buffer& out, std::string_view name, std::optional<std::int64_t> timeout_ms);
void append_with_rest(Buffer& out, std::uint32_t first_msgid, std::size_t count,
                      std::string_view rest);

// [0, msgid, "next_text", [name]] or with options as above
void append_next_text(Buffer& out, std::uint32_t msgid, std::string_view name,
                      std::optional<std::int64_t> timeout_ms = std::nullopt);

// [0, msgid, "range", [name, count]] or with options as above
void append_range(Buffer& out, std::uint32_t msgid, std::string_view name, std::int64_t count,
                  std::optional<std::int64_t> timeout_ms = std::nullopt);

// [0, msgid, "insert", [name, document]] or with options as above and {"connection": text}.
// `document` is one MessagePack map.
struct InsertOptions {
  std::optional<std::int64_t> timeout_ms;
  std::string_view connection;   // empty: not sent
  std::string_view unique = {};  // the same
};
void append_insert(Buffer& out, std::uint32_t msgid, std::string_view name,
                   std::string_view document, const InsertOptions& options);

// [0, msgid, "peek", [name]]
void append_peek(Buffer& out, std::uint32_t msgid, std::string_view name);

// [2, "ack", [below]]: no reply comes.
void append_ack(Buffer& out, std::uint32_t below);

// [0, msgid, method, []]: ping, list, status, reload.
void append_call(Buffer& out, std::uint32_t msgid, std::string_view method);

}  // namespace seqd::protocol
