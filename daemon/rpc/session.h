// Session: one connection as the methods see it: who it is, what it waits for and the bytes that
// are to go out. It knows no socket. Owned by the Server; named by its id, which is never used
// again; loop thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/core/caller.h"
#include "protocol/buffer.h"
#include "protocol/frame_scanner.h"

namespace seqd {

// Who is at the other end, as the kernel says.
struct Peer {
  std::uint32_t uid = 0;
  std::int32_t pid = 0;
};

// The connection under a session. Loop thread; must not call back into the Server.
class Transport {
 public:
  virtual ~Transport() = default;
  // The session has bytes to send, or is to be closed once they are sent, or may go on reading.
  // Looked at when the turn is over; calling again is free.
  virtual void attend() = 0;
};

struct Session {
  Session(SessionId session, const Peer& from, Transport& connection, protocol::FrameLimits limits)
      : id(session), peer(from), transport(connection), scanner(limits) {}

  Caller caller(std::uint32_t request) const { return {id, request, client}; }

  const SessionId id;
  const Peer peer;
  Transport& transport;
  protocol::FrameScanner scanner;
  protocol::Buffer out;

  ClientId client = 0;        // set by hello
  std::string client_name;    // set by hello; for people
  std::uint32_t waiting = 0;  // requests that wait for IDs
  bool closing = false;       // nothing more is read; closed once `out` is sent
  bool paused = false;        // a limit stopped the reading; see Server::may_read()

  // The msgid of the newest insert of a client with an identity: numbers rise, and none comes
  // twice.
  std::uint32_t newest_insert = 0;

  // The sequence looked up last: most connections ask for one name again and again.
  std::string last_name;
  SequenceId last_sequence = 0;
};

}  // namespace seqd
