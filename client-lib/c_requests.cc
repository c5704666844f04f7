// What the functions of the C ABI accept as arguments; see c_handle.h.
#include <cstring>
#include <span>
#include <string_view>

#include "client-lib/c_handle.h"
#include "protocol/limits.h"
#include "protocol/values/value_reader.h"

namespace seqd::engine {

// Only what no daemon can accept; the alphabet is the daemon's to judge.
Outcome check_name(const char* name) {
  if (!read_name(name).empty()) return {};
  if (name == nullptr || *name == '\0') return argument("the sequence's name is empty");
  return argument("the sequence's name is longer than 128 bytes");
}

Outcome make_next(const char* name, Request& request) {
  request.name = read_name(name);
  return check_name(name);
}

Outcome make_range(const char* name, std::int64_t count, Request& request) {
  if (!protocol::kCountLimit.allows(count))
    return argument("the count is not within 1 .. 10,000,000");
  request.method = Request::Method::range;
  request.count = count;
  return make_next(name, request);
}

bool is_one(std::string_view bytes, protocol::ValueKind kind) {
  const std::span<const std::uint8_t> span(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                           bytes.size());
  protocol::FrameScanner scanner(protocol::kReplyLimits);
  const protocol::ScanResult scan = scanner.scan(span);
  return scan.kind == protocol::ScanResult::Kind::complete && scan.size == bytes.size() &&
         protocol::ValueReader(span).kind() == kind;
}

constexpr std::size_t kMostFieldName = 128;

Outcome make_insert(const char* name, const void* document, std::size_t length, const char* unique,
                    Request& request) {
  const std::string_view bytes(static_cast<const char*>(document),
                               document == nullptr ? 0 : length);
  if (!is_one(bytes, protocol::ValueKind::map))
    return argument("the document is not exactly one MessagePack map");
  if (unique != nullptr && (*unique == '\0' || std::strlen(unique) > kMostFieldName))
    return argument("the unique field has no name, or one above 128 bytes");
  request.method = Request::Method::insert;
  request.body = std::make_unique<Request::Body>();
  request.body->params = bytes;
  if (unique != nullptr) request.body->unique = unique;
  return make_next(name, request);
}

}  // namespace seqd::engine
