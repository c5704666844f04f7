// ReplayTable: what was issued to clients that may repeat a request, until they acknowledge it. A
// repeated request gets the IDs it had; they were recorded in the same record of the log as the
// issue itself.
//
// Bounded: so many clients and so many entries in all, of which one user gets a share (FairShare);
// and so many request numbers and entries of one client (window()). Requests that wait are counted
// as the entry that they will be. Clients that are not connected are forgotten first, the longest
// gone first: those of the user that needs the room, then those of users that hold more. Loop
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "daemon/base/fair_share.h"
#include "daemon/core/log/remainder_log.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/words/caller.h"

namespace seqd {

class ReplayTable {
 public:
  struct Limits {
    std::size_t clients = 10'000;
    std::uint32_t unacknowledged = 65'536;
    std::int64_t remember_ms = 3'600'000;  // a client that is gone this long may be forgotten
    std::size_t issues = 65'536;           // kept in all, so that a snapshot of them fits the log
  };
  // fresh: to be served.  repeat: was issued.  acknowledged: below the floor.  too_far: outside of
  // the client's window.  full: the user's clients keep as much as may be.
  enum class Seen : std::uint8_t { fresh, repeat, acknowledged, too_far, full };
  struct Attached {
    ClientId client = 0;
    bool known = false;  // the identity was remembered
  };

  ReplayTable(RemainderLog& log, const Limits& limits);

  void restore(const StateImage& image, std::int64_t now_ms);
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;
  void set_limits(const Limits& limits);

  // How many request numbers of one client may be unacknowledged, and how many entries are kept of
  // them. A user alone has room for two such clients; with a second user that takes all it can, for
  // one.
  std::uint32_t window() const { return window_; }

  // A connection of `user` has sent its identity. BUSY when the table is full of connected clients,
  // or the user has as many as it may.
  Result<Attached> attach(const Token& identity, UserId user);
  const Token& identity(ClientId client) const { return clients_.at(client).identity; }
  // Its connection has ended.
  void detach(ClientId client, std::int64_t now_ms);
  // Forgets clients that have been gone for too long.
  void expire(std::int64_t now_ms);

  // Whether `request` may be served, of a connected client. May forget clients that are gone.
  Seen check(ClientId client, std::uint32_t request);
  // Whether an issue of so many entries may be kept for the client. May forget clients that are
  // gone.
  bool may_keep(ClientId client, std::int64_t entries);
  // A request of the client waits: one entry is set aside until it does not any more.
  void set_aside(ClientId client);
  void release(ClientId client);
  // What `request` was issued, in order; empty when nothing.
  std::vector<Issued> find(ClientId client, std::uint32_t request) const;
  // Keeps an issue. The log has it already.
  void record(const Issued& issue);
  void acknowledge(ClientId client, std::uint32_t below);

  std::size_t size() const { return clients_.size(); }
  // Whether anything is kept of that sequence, for any client.
  bool keeps(SequenceId sequence) const { return kept_.contains(sequence); }
  // Entries kept for one client.
  std::size_t retained(ClientId client) const;
  // Entries kept or set aside, of all.
  std::int64_t entries() const { return entry_shares_.used(); }

 private:
  // Until the log's ClientUser, which follows, is applied.
  static constexpr UserId kUnknownUser = kNoUserOrGroup;

  struct Client {
    Token identity{};
    UserId user = kUnknownUser;
    std::uint32_t floor = 0;
    RetainedIssues issues;
    std::int64_t entries = 0;  // of the issues, and set aside
    bool connected = false;
    std::int64_t gone_since_ms = 0;
    std::list<ClientId>::iterator gone;  // in gone_, when not connected
  };

  Client& add(ClientId id, const Token& identity, UserId user);
  void move_to(Client& client, UserId user);
  void leave(ClientId id, Client& client, std::int64_t now_ms);
  void come_back(Client& client);
  bool make_room(const FairShare& share, UserId user, std::int64_t more);
  void forget(ClientId id);
  void dropped(const Issued& issue, Client& client);

  RemainderLog& log_;
  Limits limits_;
  FairShare client_shares_;
  FairShare entry_shares_;  // kept and set aside
  std::uint32_t window_;
  std::map<Token, ClientId> by_identity_;
  std::map<ClientId, Client> clients_;
  // By user: clients without a connection, the earliest disconnected first.
  std::map<UserId, std::list<ClientId>> gone_;
  std::unordered_map<SequenceId, std::size_t> kept_;  // entries of a sequence; none is 0
  ClientId next_ = 1;
};

}  // namespace seqd
