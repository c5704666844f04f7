#include "tests/adapters/mongo/mongos_proxy.h"

#include <utility>

#include "tests/adapters/mongo/mongo_front.h"
#include "tests/adapters/mongo/mongo_wire.h"

namespace seqd::testing {
namespace {

// What tells a mongos from a member of a set.
Document as_mongos(const Document& hello) {
  Document out;
  bson_copy_to_excluding_noinit(hello.get(), out.get(), "hosts", "setName", "setVersion", "primary",
                                "me", "secondary", "electionId", "lastWrite", "topologyVersion",
                                nullptr);
  out.add("msg", "isdbgrid");
  return out;
}

bool is_alone(MongoServer& server) {
  const Document hello = server.admin(R"({"hello": 1})");
  bson_iter_t found;
  return !find_field(hello.get(), "primary", &found);
}

}  // namespace

MongosProxy::MongosProxy(MongoServer& server, Says says)
    : upstream_(writable_port(server)),
      user_(user_in(server.uri())),
      says_mongos_(says == Says::mongos && !is_alone(server)),
      server_([this](int client) { serve(client); }) {}

std::string MongosProxy::uri() const {
  return "mongodb://" + user_ + "127.0.0.1:" + std::to_string(server_.port()) +
         (says_mongos_ ? "/" : "/?directConnection=true");
}

void MongosProxy::answer(const std::string& command, int times, const std::string& reply) {
  const std::lock_guard lock(mutex_);
  answers_[command] = {times, reply, true, ""};
}

void MongosProxy::refuse(const std::string& command, int times, const std::string& reply) {
  const std::lock_guard lock(mutex_);
  answers_[command] = {times, reply, false, ""};
}

void MongosProxy::refuse_next(const std::string& command, const std::string& reply) {
  const std::lock_guard lock(mutex_);
  answers_[command].next = reply;
}

int MongosProxy::seen(const std::string& command) {
  const std::lock_guard lock(mutex_);
  return seen_[command];
}

void MongosProxy::serve(int client) {
  const int set = server_.connect_to(upstream_);
  bool open = set >= 0;
  while (open) {
    const auto request = wire::read_message(client);
    if (!request) break;
    const std::string command = wire::command_in(*request);
    // Something harmless in its place, whose answer is the frame of ours.
    const std::string sent =
        is_carried_out(command)
            ? *request
            : wire::with_request(*request, Document().add("ping", true).add("$db", "admin"));
    if (!write_all(set, sent)) break;
    const auto reply = wire::read_message(set);
    if (!reply) break;
    open = write_all(client, wire::with_reply(*reply, judged(command, wire::reply_in(*reply))));
  }
  server_.disconnect(set);
}

bool MongosProxy::is_carried_out(const std::string& command) {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(command);
  return found == answers_.end() || found->second.times == 0 || found->second.carried_out;
}

Document MongosProxy::judged(const std::string& command, const Document& reply) {
  if (bson_has_field(reply.get(), "maxWireVersion"))
    return says_mongos_ ? as_mongos(reply) : Document(reply.get());
  const std::lock_guard lock(mutex_);
  ++seen_[command];
  const auto found = answers_.find(command);
  if (found == answers_.end() || found->second.times == 0) return Document(reply.get());
  Answer& now = found->second;
  bson_error_t error = {};
  bson_t* parsed =
      bson_new_from_json(reinterpret_cast<const std::uint8_t*>(now.reply.data()), -1, &error);
  if (--now.times == 0 && !now.next.empty()) now = {1, std::exchange(now.next, {}), false, ""};
  if (parsed == nullptr) return {};  // the driver refuses it, and the test fails
  Document out(parsed);
  bson_destroy(parsed);
  return out;
}

}  // namespace seqd::testing
