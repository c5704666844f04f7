#include "tests/adapters/mongo/mongos_proxy.h"

#include <sys/socket.h>

#include <cstring>
#include <optional>
#include <string_view>

namespace seqd::testing {
namespace {

// The wire protocol of MongoDB: a header of four int32 (length, number, number answered, kind),
// then by kind; all in the order of bytes of this machine.
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

bool read_exactly(int socket, std::string& bytes, std::size_t size) {
  const std::size_t before = bytes.size();
  bytes.resize(before + size);
  return size == 0 ||
         recv(socket, bytes.data() + before, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

std::optional<std::string> read_message(int socket) {
  std::string message;
  if (!read_exactly(socket, message, kHeader)) return std::nullopt;
  const auto size = static_cast<std::size_t>(number_at(message, 0));
  if (size < kHeader || !read_exactly(socket, message, size - kHeader)) return std::nullopt;
  return message;
}

std::size_t document_at(const std::string& message, bool is_request) {
  if (number_at(message, 12) == kMessage) return kMessageHead;
  if (!is_request) return kReplyHead;
  // An old query: flags, a name that ends with a zero byte, two numbers.
  return message.find('\0', kHeader + 4) + 1 + 8;
}

Document document_in_message(const std::string& message, bool is_request) {
  const std::size_t at = document_at(message, is_request);
  bson_t view;
  if (!bson_init_static(&view, reinterpret_cast<const std::uint8_t*>(message.data()) + at,
                        static_cast<std::size_t>(number_at(message, at))))
    return {};
  return Document(&view);
}

std::string with_document(const std::string& message, const Document& document) {
  std::string out = message.substr(0, document_at(message, false));
  out.append(reinterpret_cast<const char*>(bson_get_data(document.get())), document.get()->len);
  if (number_at(message, 12) == kMessage) out.replace(kHeader, 4, 4, '\0');  // no checksum
  const auto size = static_cast<std::int32_t>(out.size());
  std::memcpy(out.data(), &size, sizeof size);
  return out;
}

std::string first_key(const Document& document) {
  bson_iter_t at;
  return bson_iter_init(&at, document.get()) && bson_iter_next(&at) ? bson_iter_key(&at) : "";
}

// What tells a mongos from a member of a set.
Document as_mongos(const Document& hello) {
  Document out;
  bson_copy_to_excluding_noinit(hello.get(), out.get(), "hosts", "setName", "setVersion", "primary",
                                "me", "secondary", "electionId", "lastWrite", "topologyVersion",
                                nullptr);
  out.add("msg", "isdbgrid");
  return out;
}

}  // namespace

MongosProxy::MongosProxy(MongoServer& server)
    : upstream_(upstream_of(server)), server_([this](int client) { serve(client); }) {}

MongosProxy::Upstream MongosProxy::upstream_of(MongoServer& server) {
  const Document hello = server.admin(R"({"hello": 1})");
  bson_iter_t found;
  const bool alone = !find_field(hello.get(), "primary", &found);
  const std::string primary =
      alone ? server.uri().substr(0, server.uri().rfind('/')) : bson_iter_utf8(&found, nullptr);
  return {std::stoi(primary.substr(primary.rfind(':') + 1)), alone};
}

std::string MongosProxy::uri() const {
  return "mongodb://127.0.0.1:" + std::to_string(server_.port()) + "/";
}

void MongosProxy::answer(const std::string& command, int times, const std::string& reply) {
  const std::lock_guard lock(mutex_);
  answers_[command] = {times, reply};
}

int MongosProxy::seen(const std::string& command) {
  const std::lock_guard lock(mutex_);
  return seen_[command];
}

void MongosProxy::serve(int client) {
  const int set = server_.connect_to(upstream_.port);
  bool open = set >= 0;
  while (open) {
    const auto request = read_message(client);
    if (!request || !write_all(set, *request)) break;
    const auto reply = read_message(set);
    if (!reply) break;
    const std::int32_t kind = number_at(*request, 12);
    const std::string command =
        kind == kMessage || kind == kQuery ? first_key(document_in_message(*request, true)) : "";
    open = write_all(client,
                     with_document(*reply, judged(command, document_in_message(*reply, false))));
  }
  server_.disconnect(set);
}

Document MongosProxy::judged(const std::string& command, const Document& reply) {
  if (bson_has_field(reply.get(), "maxWireVersion"))
    return upstream_.alone ? Document(reply.get()) : as_mongos(reply);
  const std::lock_guard lock(mutex_);
  ++seen_[command];
  const auto found = answers_.find(command);
  if (found == answers_.end() || found->second.times == 0) return Document(reply.get());
  --found->second.times;
  bson_error_t error = {};
  bson_t* parsed = bson_new_from_json(
      reinterpret_cast<const std::uint8_t*>(found->second.reply.data()), -1, &error);
  if (parsed == nullptr) return {};  // the driver refuses it, and the test fails
  Document out(parsed);
  bson_destroy(parsed);
  return out;
}

}  // namespace seqd::testing
