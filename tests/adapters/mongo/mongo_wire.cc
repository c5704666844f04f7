#include "tests/adapters/mongo/mongo_wire.h"

#include <sys/socket.h>

#include <cstdint>
#include <cstring>

namespace seqd::testing::wire {
namespace {

// A header of four int32 (length, number, number answered, kind), then by kind; all in the order of
// bytes of this machine.
constexpr std::size_t kHeader = 16;
constexpr std::int32_t kQuery = 2004;
constexpr std::int32_t kMessage = 2013;
constexpr std::size_t kReplyHead = kHeader + 20;   // flags, cursor, first, count
constexpr std::size_t kMessageHead = kHeader + 5;  // flags, kind of the section

std::int32_t number_at(const std::string& bytes, std::size_t at) {
  std::int32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::int32_t kind_of(const std::string& message) {
  return number_at(message, 12);
}

bool read_exactly(int socket, std::string& bytes, std::size_t size) {
  const std::size_t before = bytes.size();
  bytes.resize(before + size);
  return size == 0 ||
         recv(socket, bytes.data() + before, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

std::size_t request_at(const std::string& request) {
  if (kind_of(request) == kMessage) return kMessageHead;
  // An old query: flags, a name that ends with a zero byte, two numbers.
  return request.find('\0', kHeader + 4) + 1 + 8;
}

std::size_t reply_at(const std::string& reply) {
  return kind_of(reply) == kMessage ? kMessageHead : kReplyHead;
}

Document document_at(const std::string& message, std::size_t at) {
  bson_t view;
  if (!bson_init_static(&view, reinterpret_cast<const std::uint8_t*>(message.data()) + at,
                        static_cast<std::size_t>(number_at(message, at))))
    return {};
  return Document(&view);
}

std::string with_document(const std::string& message, std::size_t at, const Document& document,
                          const std::string& behind) {
  std::string out = message.substr(0, at);
  out.append(reinterpret_cast<const char*>(bson_get_data(document.get())), document.get()->len);
  out += behind;
  if (kind_of(message) == kMessage) out.replace(kHeader, 4, 4, '\0');  // no checksum
  const auto size = static_cast<std::int32_t>(out.size());
  std::memcpy(out.data(), &size, sizeof size);
  return out;
}

}  // namespace

std::optional<std::string> read_message(int socket) {
  std::string message;
  if (!read_exactly(socket, message, kHeader)) return std::nullopt;
  const auto size = static_cast<std::size_t>(number_at(message, 0));
  if (size < kHeader || !read_exactly(socket, message, size - kHeader)) return std::nullopt;
  return message;
}

std::string command_in(const std::string& request) {
  if (kind_of(request) != kMessage && kind_of(request) != kQuery) return "";
  const Document document = request_in(request);
  bson_iter_t at;
  return bson_iter_init(&at, document.get()) && bson_iter_next(&at) ? bson_iter_key(&at) : "";
}

Document request_in(const std::string& request) {
  return document_at(request, request_at(request));
}

Document reply_in(const std::string& reply) {
  return document_at(reply, reply_at(reply));
}

std::string with_request(const std::string& request, const Document& document) {
  const std::size_t at = request_at(request);
  return with_document(request, at, document,
                       request.substr(at + static_cast<std::size_t>(number_at(request, at))));
}

std::string with_reply(const std::string& reply, const Document& document) {
  return with_document(reply, reply_at(reply), document, "");
}

}  // namespace seqd::testing::wire
