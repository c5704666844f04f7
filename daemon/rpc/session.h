// Session: one connection as the methods see it: its identity, its waiting requests and its bytes
// to send. It knows no socket. Owned by Sessions; named by its id, which is never used again;
// loop thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/base/peer.h"
#include "daemon/core/words/caller.h"
#include "protocol/buffer.h"
#include "protocol/errors.h"
#include "protocol/fast/fast_request.h"
#include "protocol/frame_scanner.h"

namespace seqd {

// The connection under a session. Loop thread; must not call back into the Server.
class Transport {
 public:
  virtual ~Transport() = default;
  // The session has bytes to send, or must be closed once they are sent, or may continue reading.
  // Handled when the turn is over; calling again is free.
  virtual void attend() = 0;
};

constexpr std::size_t kErrorCodes = 1  // OK
#define X(code, fault, retry, meaning) +1
#include "protocol/errors.def"
#undef X
    ;
// How many requests were answered with each ErrorCode, of all sessions.
using RefusalCounts = std::array<std::uint64_t, kErrorCodes>;

struct Session {
  Session(SessionId session, const Peer& from, Transport& connection, protocol::FrameLimits limits,
          RefusalCounts& all_refusals)
      : id(session), peer(from), transport(connection), refusals(all_refusals), scanner(limits) {}

  // What the client has not taken yet.
  std::size_t unsent() const { return out.size() + sending; }
  Caller caller(std::uint32_t request) const { return {id, request, client, peer.uid}; }

  const SessionId id;
  const Peer peer;
  Transport& transport;
  RefusalCounts& refusals;
  protocol::FrameScanner scanner;
  protocol::Buffer out;
  std::size_t sending = 0;  // bytes that the transport has taken out of `out` and not yet sent
  std::size_t counted = 0;  // of unsent(), by Sessions

  ClientId client = 0;          // set by hello
  std::string client_name;      // set by hello; for people
  std::uint32_t waiting = 0;    // requests that wait for IDs
  std::int64_t opened_ms = 0;   // by the monotonic clock
  std::uint64_t requests = 0;   // that were carried out or refused, repeats too
  std::uint64_t ids = 0;        // in the replies to it, those of repeats too, and of ended blocks
  bool closing = false;         // nothing more is read; closed once `out` is sent
  bool paused = false;          // a limit stopped the reading; see Server::may_read()
  bool page_waits = false;      // for the next turn; see Server::take_page()
  std::uint64_t page_turn = 0;  // the last turn in which it had a page

  // The msgid of the newest insert of a client with an identity: numbers rise, and none comes
  // twice.
  std::uint32_t newest_insert = 0;

  // The request and the sequence of the last one, of which it may take IDs: most connections send
  // one request again and again. Holds as long as the settings it was found by are in force.
  protocol::FastParser fast_parser;
  std::uint64_t last_settings_version = 0;
  SequenceId last_sequence = 0;  // 0: that of this name may change, or could not be opened
};

}  // namespace seqd
