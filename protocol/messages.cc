#include "protocol/messages.h"

#include <limits>

namespace seqd::protocol {
namespace {

constexpr std::uint32_t kRequestParts = 4;
constexpr std::uint32_t kNotificationParts = 3;

ParseOutcome refuse(std::span<const std::uint8_t> frame, std::string_view text) {
  return {ErrorCode::BAD_REQUEST, text, readable_msgid(frame)};
}

std::optional<std::uint32_t> read_msgid(ValueReader& reader) {
  const auto value = reader.read_integer();
  if (!value || *value < 0 || *value > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// Reads method and params; gives what is wrong, or nothing.
std::string_view read_call(ValueReader& reader, Message& out) {
  const auto method = reader.read_text();
  if (!method) return "the method must be a string";
  const auto params = reader.read_array();
  if (!params) return "the params must be an array";
  out.method = *method;
  out.param_count = *params;
  out.params = reader;
  return {};
}

// Where the words behind "CODE: " begin. The code counts as a whole word only, as in
// find_error_code().
std::string_view behind_code(std::string_view text, std::string_view name) {
  const auto is_code_character = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (at > 0 && is_code_character(text[at - 1])) continue;
    if (end >= text.size() || text[end] != ':') continue;
    std::string_view words = text.substr(end + 1);
    if (words.starts_with(' ')) words.remove_prefix(1);
    return words;
  }
  return text;
}

}  // namespace

ParseOutcome parse_message(std::span<const std::uint8_t> frame, Message& out) {
  ValueReader reader(frame);
  const auto parts = reader.read_array();
  if (!parts)
    return refuse(frame,
                  "a message is an array: [0, msgid, method, params] or [2, method, params]");
  const auto kind = reader.read_integer();
  if (!kind || *kind < 0 || *kind > 2)
    return refuse(frame, "a message begins with 0 (request), 1 (reply) or 2 (notification)");
  out = Message{};
  out.kind = static_cast<Message::Kind>(*kind);
  if (out.kind == Message::Kind::notification) {
    if (*parts != kNotificationParts)
      return refuse(frame, "a notification has three parts: [2, method, params]");
    const std::string_view wrong = read_call(reader, out);
    return wrong.empty() ? ParseOutcome{} : refuse(frame, wrong);
  }
  if (*parts != kRequestParts)
    return refuse(frame, out.kind == Message::Kind::request
                             ? "a request has four parts: [0, msgid, method, params]"
                             : "a reply has four parts: [1, msgid, error, result]");
  const auto msgid = read_msgid(reader);
  if (!msgid) return refuse(frame, "the msgid must be an integer from 0 to 4294967295");
  out.msgid = *msgid;
  if (out.kind == Message::Kind::request) {
    const std::string_view wrong = read_call(reader, out);
    return wrong.empty() ? ParseOutcome{} : refuse(frame, wrong);
  }
  out.error = reader;
  if (!reader.skip()) return refuse(frame, "the error of the reply is not whole");
  out.result = reader;
  return {};
}

std::uint32_t readable_msgid(std::span<const std::uint8_t> bytes) {
  ValueReader reader(bytes);
  const auto parts = reader.read_array();
  if (!parts || *parts < 2) return 0;
  const auto kind = reader.read_integer();
  if (!kind || *kind != static_cast<std::int64_t>(Message::Kind::request)) return 0;
  return read_msgid(reader).value_or(0);
}

std::optional<ReplyError> read_reply_error(ValueReader error) {
  if (error.read_nil()) return std::nullopt;
  ReplyError result;
  Fault fault = Fault::daemon;
  if (const auto parts = error.read_array(); parts && *parts == 2) {
    if (error.read_integer() == static_cast<std::int64_t>(Fault::caller)) fault = Fault::caller;
  }
  const auto text = error.read_text();
  if (!text) {
    result.text = "the daemon's error has an unknown form; update this client";
    return result;
  }
  const auto code = find_error_code(*text);
  if (!code) {
    // A code of a later version: it is treated by its fault.
    result.code = fault == Fault::caller ? ErrorCode::BAD_REQUEST : ErrorCode::INTERNAL;
    result.text = *text;
    return result;
  }
  result.code = *code;
  result.text = behind_code(*text, error_name(*code));
  return result;
}

std::optional<Run> read_run(ValueReader& reader) {
  ValueReader cursor = reader;
  const auto parts = cursor.read_array();
  if (!parts || *parts != 3) return std::nullopt;
  const auto first = cursor.read_integer();
  const auto count = cursor.read_integer();
  const auto step = cursor.read_integer();
  if (!first || !count || !step || *count < 1 || *step == 0) return std::nullopt;
  // The last ID is an int64, too.
  std::int64_t way = 0;
  std::int64_t last = 0;
  if (__builtin_mul_overflow(*count - 1, *step, &way) ||
      __builtin_add_overflow(*first, way, &last)) {
    return std::nullopt;
  }
  reader = cursor;
  return Run{*first, *count, *step};
}

}  // namespace seqd::protocol
