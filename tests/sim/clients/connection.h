// Connection: one connection between a simulated client and a daemon, as bytes. Shared by both, and
// by what is on its way between them; one thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/rpc/session.h"
#include "protocol/messages.h"

namespace seqd::sim {

struct Connection;

// The client at one end.
class ConnectionUser {
 public:
  virtual ~ConnectionUser() = default;
  // The reply has left the daemon; when the client reads it, and whether, is its own affair. The
  // message is a view.
  virtual void reply_left(Connection& connection, const protocol::Message& reply) = 0;
  // The daemon has ended the connection, or itself. What has left it may still be read.
  virtual void connection_ended(Connection& connection) = 0;
};

struct Connection final : Transport {
  Connection(ConnectionUser& client, std::uint64_t serial) : user(client), number(serial) {}
  void attend() override { attended = true; }

  ConnectionUser& user;
  const std::uint64_t number;  // never used again
  Session* session = nullptr;  // null when the daemon has ended it
  std::string sent;            // by the client, on the way
  std::string arrived;         // not taken yet
  bool attended = false;
  bool reads = true;            // false: the client takes no replies
  bool spoiled = false;         // something was sent that is no request
  bool orphaned = false;        // the client has given it up
  std::int64_t generation = 0;  // the client's identity, as a number
  std::int64_t others = 0;      // ping, list and status without an answer
  std::int64_t blocked_ms = 0;  // when a limit last kept requests from being taken
};

}  // namespace seqd::sim
