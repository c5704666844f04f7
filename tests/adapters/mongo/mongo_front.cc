#include "tests/adapters/mongo/mongo_front.h"

#include "tests/adapters/mongo/mongo_wire.h"

#include <catch2/catch.hpp>

namespace seqd::testing {
namespace {

// The driver would have the server go on by itself, which is no answer to anything.
constexpr const char* kStreaming = "topologyVersion";

Document without(const Document& document, const std::string& field) {
  Document out;
  bson_copy_to_excluding_noinit(document.get(), out.get(), field.c_str(), nullptr);
  return out;
}

}  // namespace

int writable_port(MongoServer& server) {
  const Document hello = server.admin(R"({"hello": 1})");
  bson_iter_t found;
  const std::string primary = find_field(hello.get(), "primary", &found)
                                  ? bson_iter_utf8(&found, nullptr)
                                  : server.uri().substr(0, server.uri().rfind('/'));
  return std::stoi(primary.substr(primary.rfind(':') + 1));
}

std::string user_in(const std::string& uri) {
  const std::size_t begin = uri.find("://") + 3;
  const std::size_t at = uri.find('@');
  return at == std::string::npos ? "" : uri.substr(begin, at + 1 - begin);
}

MongoFront::MongoFront(MongoServer& server)
    : upstream_(writable_port(server)),
      user_(user_in(server.uri())),
      server_([this](int client) { serve(client); }) {}

std::string MongoFront::uri(const std::string& user) const {
  return "mongodb://" + user + "127.0.0.1:" + std::to_string(server_.port()) +
         "/?directConnection=true";
}

void MongoFront::break_at(const std::string& field, int times) {
  const std::lock_guard lock(mutex_);
  breaks_[field] = times;
}

void MongoFront::leave_out(const std::string& field) {
  const std::lock_guard lock(mutex_);
  left_out_.insert(field);
}

int MongoFront::met(const std::string& field) {
  const std::lock_guard lock(mutex_);
  return met_[field];
}

void MongoFront::serve(int client) {
  const int set = server_.connect_to(upstream_);
  bool open = set >= 0;
  while (open) {
    auto request = wire::read_message(client);
    if (!request || !pass(*request) || !write_all(set, *request)) break;
    const auto reply = wire::read_message(set);
    if (!reply) break;
    open = write_all(client, wire::with_reply(*reply, without(wire::reply_in(*reply), kStreaming)));
  }
  server_.disconnect(set);
}

bool MongoFront::pass(std::string& request) {
  if (wire::command_in(request).empty()) return true;
  Document command = wire::request_in(request);
  const std::lock_guard lock(mutex_);
  for (auto& [field, times] : breaks_) {
    if (times == 0 || !bson_has_field(command.get(), field.c_str())) continue;
    --times;
    ++met_[field];
    return false;
  }
  for (const std::string& field : left_out_) {
    if (!bson_has_field(command.get(), field.c_str())) continue;
    ++met_[field];
    command = without(command, field);
    request = wire::with_request(request, command);
  }
  return true;
}

}  // namespace seqd::testing
