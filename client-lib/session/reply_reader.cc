#include "client-lib/session/reply_reader.h"

#include <algorithm>
#include <string_view>

#include "protocol/limits.h"

namespace seqd::engine {
namespace {

using protocol::Message;
using protocol::ValueReader;

Outcome strange(std::string_view method, std::string_view what) {
  return {SEQD_E_PROTOCOL, "the reply to " + std::string(method) + " " + std::string(what) +
                               "; is the process at this socket seqd?"};
}

Outcome read_id(std::string_view method, ValueReader reader, Answer& answer) {
  const auto id = reader.read_integer();
  if (!id) return strange(method, "is not an integer within -2^63 .. 2^63-1");
  answer.first = {*id, 1, 1};
  return {};
}

// The longest text that a template can make, and more.
constexpr std::size_t kLongestText = 1'024;

// Plain characters: C's strings end at a zero byte, and a terminal obeys others.
bool is_plain(std::string_view text) {
  return text.size() <= kLongestText &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Outcome read_id_text(ValueReader reader, Answer& answer) {
  const auto text = reader.read_text();
  if (!text || text->empty() || !is_plain(*text))
    return strange("next_text", "is not a text of plain characters");
  answer.more().result.assign(*text);
  return {};
}

// A text or nil, which is empty.
bool read_optional_text(ValueReader& reader, std::string& value) {
  value.clear();
  if (reader.read_nil()) return true;
  const auto text = reader.read_text();
  if (!text || !is_plain(*text)) return false;
  value.assign(*text);
  return true;
}

Outcome read_runs(const Request& request, ValueReader reader, Answer& answer) {
  const auto count = reader.read_array();
  if (!count) return strange("range", "is not an array");
  std::int64_t left = request.count;
  // Grows with what is there, not with what the header announces.
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto run = protocol::read_run(reader);
    if (!run || run->count > left) return strange("range", "has runs that were not requested");
    left -= run->count;
    const seqd_run each = {run->first, run->count, run->step};
    if (i == 0) answer.first = each;
    if (i == 1) answer.more().all.push_back(answer.first);
    if (i >= 1) answer.more().all.push_back(each);
  }
  if (left != 0) return strange("range", "has fewer IDs than requested");
  return {};
}

// An integer or nil.
bool read_optional_integer(ValueReader& reader, std::optional<std::int64_t>& value) {
  value.reset();
  if (reader.read_nil()) return true;
  value = reader.read_integer();
  return value.has_value();
}

Outcome read_peek(ValueReader reader, Answer& answer) {
  const auto pairs = reader.read_map();
  if (!pairs) return strange("peek", "is not a map");
  Peeked& peeked = answer.more().peeked;
  bool well = true;
  for (std::uint32_t i = 0; i < *pairs && well; ++i) {
    const std::string_view key = reader.read_text().value_or(std::string_view());
    if (key == "next")
      well = read_optional_integer(reader, peeked.next);
    else if (key == "available") {
      std::optional<std::int64_t> available;
      well = read_optional_integer(reader, available);
      peeked.available = available.value_or(0);
    } else if (key == "last")
      well = read_optional_integer(reader, peeked.last);
    else
      well = !key.empty() && reader.skip();
  }
  return well ? Outcome() : strange("peek", "has unexpected types");
}

bool read_limits(ValueReader& reader, HelloAnswer& answer) {
  const auto pairs = reader.read_map();
  // A daemon has a handful of limits; what is far beyond that is not remembered.
  if (!pairs || *pairs > 256) return false;
  for (std::uint32_t i = 0; i < *pairs; ++i) {
    const auto key = reader.read_text();
    if (!key) return false;
    const auto value = reader.read_integer();
    if (!value || *value < 0) return false;
    answer.limits.insert_or_assign(std::string(*key), *value);
  }
  return true;
}

}  // namespace

Outcome read_error(const Message& reply) {
  const auto error = protocol::read_reply_error(reply.error);
  if (!error) return {};
  std::string text(error->text);
  // read_reply_error() makes INTERNAL of a code it does not know; here a newer daemon's code stays
  // apart from the daemon's own fault.
  ValueReader reader = reply.error;
  const bool agreed = reader.read_array() == 2U && reader.read_integer().has_value();
  const auto whole = agreed ? reader.read_text() : std::nullopt;
  if (whole && !find_error_code(*whole)) return {SEQD_E_UNKNOWN, std::string(*whole)};
  return {result_code(error->code), std::move(text)};
}

Outcome read_result(const Request& request, std::span<const std::uint8_t> frame,
                    const Message& reply, Answer& answer) {
  switch (request.method) {
    case Request::Method::next:
      return read_id("next", reply.result, answer);
    case Request::Method::insert:
      return read_id("insert", reply.result, answer);
    case Request::Method::next_text:
      return read_id_text(reply.result, answer);
    case Request::Method::range:
      return read_runs(request, reply.result, answer);
    case Request::Method::peek:
      return read_peek(reply.result, answer);
    case Request::Method::call:
      break;
  }
  // The result is the last value of a reply, so it is the end of the frame.
  const auto result = frame.last(reply.result.remaining());
  answer.more().result.assign(reinterpret_cast<const char*>(result.data()), result.size());
  return {};
}

Outcome read_parsed(std::string_view result, ParsedText& parsed) {
  ValueReader reader({reinterpret_cast<const std::uint8_t*>(result.data()), result.size()});
  const auto pairs = reader.read_map();
  if (!pairs) return strange("parse", "is not a map");
  bool well = true;
  for (std::uint32_t i = 0; i < *pairs && well; ++i) {
    const std::string_view key = reader.read_text().value_or(std::string_view());
    if (key == "number") {
      parsed.number = reader.read_integer().value_or(0);
    } else if (key == "period") {
      well = read_optional_text(reader, parsed.period);
    } else if (key == "check") {
      well = read_optional_text(reader, parsed.check);
    } else {
      well = !key.empty() && reader.skip();
    }
  }
  return well && parsed.number >= 1 ? Outcome() : strange("parse", "has unexpected types");
}

Outcome read_hello(const Message& reply, HelloAnswer& answer) {
  ValueReader reader = reply.result;
  const auto pairs = reader.read_map();
  if (!pairs) return strange("hello", "is not a map");
  std::int64_t version = 0;
  bool well = true;
  for (std::uint32_t i = 0; i < *pairs && well; ++i) {
    const std::string_view key = reader.read_text().value_or(std::string_view());
    if (key == "protocol") {
      version = reader.read_integer().value_or(0);
      well = version != 0;
    } else if (key == "known") {
      const auto known = reader.read_bool();
      answer.known = known.value_or(false);
      well = known.has_value();
    } else if (key == "connection") {
      well = read_optional_text(reader, answer.connection);
    } else if (key == "limits") {
      well = read_limits(reader, answer);
    } else {
      well = !key.empty() && reader.skip();
    }
  }
  if (!well) return strange("hello", "has unexpected types");
  if (version != protocol::kProtocolVersion) {
    return strange("hello", "names protocol version " + std::to_string(version) +
                                ", and this library speaks version " +
                                std::to_string(protocol::kProtocolVersion) + " only");
  }
  return {};
}

}  // namespace seqd::engine
