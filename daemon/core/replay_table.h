// ReplayTable: what was issued to clients that may repeat a request, until they acknowledge it. A
// repeated request gets the IDs it had; they were recorded in the same record of the log as the
// issue itself.
//
// Bounded: so many clients, of whom those that are not connected are forgotten first, the longest
// gone first; and so many request numbers between a client's acknowledged floor and its newest.
// Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <vector>

#include "daemon/core/caller.h"
#include "daemon/core/remainder_log.h"
#include "daemon/core/state_image.h"

namespace seqd {

class ReplayTable {
 public:
  struct Limits {
    std::size_t clients = 10'000;
    std::uint32_t unacknowledged = 65'536;
    std::int64_t remember_ms = 3'600'000;  // a client that is gone this long may be forgotten
    std::size_t issues = 65'536;           // kept in all, so that a snapshot of them fits the log
    std::size_t issues_per_client = 4'096;
  };
  // fresh: to be served.  repeat: was issued.  acknowledged: below the floor.  too_far: above floor
  // + unacknowledged, or as much is kept as may be.
  enum class Seen : std::uint8_t { fresh, repeat, acknowledged, too_far };
  struct Attached {
    ClientId client = 0;
    bool known = false;  // the identity was remembered
  };

  ReplayTable(RemainderLog& log, const Limits& limits) : log_(log), limits_(limits) {}

  void restore(const StateImage& image, std::int64_t now_ms);
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;
  void set_limits(const Limits& limits) { limits_ = limits; }

  // A connection says who it is. BUSY when the table is full of connected clients.
  Result<Attached> attach(const Token& identity);
  const Token& identity(ClientId client) const { return clients_.at(client).identity; }
  // Its connection has ended.
  void detach(ClientId client, std::int64_t now_ms);
  // Forgets clients that have been gone for too long.
  void expire(std::int64_t now_ms);

  // Whether `request` may be served, of a connected client. May forget clients that are gone.
  Seen check(ClientId client, std::uint32_t request);
  // What `request` was issued, in order; empty when nothing.
  std::vector<Issued> find(ClientId client, std::uint32_t request) const;
  // Keeps an issue. The log has it already.
  void record(const Issued& issue);
  void acknowledge(ClientId client, std::uint32_t below);

  std::size_t size() const { return clients_.size(); }
  // Whether anything is kept of that sequence, for any client.
  bool keeps(SequenceId sequence) const;
  // Entries kept for one client.
  std::size_t retained(ClientId client) const;

 private:
  struct Client {
    Token identity{};
    std::uint32_t floor = 0;
    std::uint32_t newest = 0;    // highest request number issued to
    std::vector<Issued> issues;  // by request number; consecutive single issues are one
    bool connected = false;
    std::int64_t gone_since_ms = 0;
    std::list<ClientId>::iterator gone;  // in gone_, when not connected
  };

  static std::uint32_t last_request(const Issued& issue);
  void forget(ClientId id);

  RemainderLog& log_;
  Limits limits_;
  std::map<Token, ClientId> by_identity_;
  std::map<ClientId, Client> clients_;
  std::list<ClientId> gone_;  // not connected, the longest gone first
  std::size_t issues_ = 0;    // kept, of all clients
  ClientId next_ = 1;
};

}  // namespace seqd
