// WireDaemon: a daemon in memory for the tests of the client library: it speaks the wire, counts,
// and remembers the requests of an identity, so that a repeat gets the same IDs. It has no socket;
// socket_daemon.h gives it one. One thread.
//
// Invariant: no ID is issued twice; repeats() counts the requests answered from memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/buffer.h"
#include "protocol/frame_scanner.h"
#include "protocol/messages.h"

namespace seqd::testing {

class WireDaemon {
 public:
  // What is done with one request, instead of the ordinary.
  enum class Fault : std::uint8_t {
    none,
    close_before,  // not carried out; the connection closes
    close_after,   // carried out, not answered; the connection closes
    ignore,        // not carried out, not answered
    stopping,      // answered with STOPPING
    garbage,       // answered with `garbage`
    busy,          // answered with BUSY
  };
  // Asked before each request but hello; `number` counts them from 1 over all connections.
  std::function<Fault(int number, const protocol::Message&)> fault;
  // Asked before each hello, counted from 1; anything but `none` closes or garbles.
  std::function<Fault(int number)> hello_fault;
  std::string garbage = std::string("\xc1", 1);

  // What lives as long as one connection.
  struct Connection {
    protocol::Buffer input;
    protocol::FrameScanner scanner{protocol::FrameLimits{}};
    std::string identity;  // empty: anonymous
    std::string name;      // what hello said of "connection"
    bool greeted = false;
  };
  // Asked for methods that are none of its own; true: it has answered.
  std::function<bool(Connection&, const protocol::Message&, protocol::Buffer& out)> other;
  // Takes bytes in and appends the answers. False: the connection is to be closed now, and what
  // was appended is still sent.
  bool receive(Connection& connection, std::string_view bytes, protocol::Buffer& out);

  // As after a restart that lost the memory of identities.
  void forget_identities() { identities_.clear(); }

  // The results of other methods, as MessagePack.
  std::map<std::string, std::string, std::less<>> results;
  std::int64_t step = 1;        // of new runs
  std::int64_t run_length = 0;  // longest run of a range; 0: one run
  std::int64_t count_limit = 100'000;
  std::int64_t unacknowledged_limit = 65'536;
  protocol::FrameLimits limits;  // as hello says; what is above is received all the same

  // Documents as MessagePack, in the order of their _id.
  std::vector<std::string> inserted;

  // What happened so far.
  int requests() const { return requests_; }
  int hellos() const { return hellos_; }
  int repeats() const { return repeats_; }
  std::int64_t issued(const std::string& name) const;
  const std::vector<std::uint32_t>& acknowledgements() const { return acknowledgements_; }
  const std::set<std::string>& identities_seen() const { return identities_seen_; }
  // A rule of the wire that the client broke; empty: none.
  const std::string& complaint() const { return complaint_; }

 private:
  struct Identity {
    std::uint32_t floor = 1;
    std::map<std::uint32_t, std::vector<protocol::Run>> answered;
  };
  bool handle(Connection& connection, const protocol::Message& message, protocol::Buffer& out);
  bool hello(Connection& connection, const protocol::Message& message, protocol::Buffer& out);
  void acknowledge(Connection& connection, const protocol::Message& message);
  void issue(Connection& connection, const protocol::Message& message, protocol::Buffer& out);
  void insert(const Connection& connection, const protocol::Message& message,
              protocol::Buffer& out);
  void answer_to(Connection& connection, const protocol::Message& message, protocol::Buffer& out);
  void answer(const protocol::Message& message, protocol::Buffer& out);
  std::vector<protocol::Run> take(const std::string& name, std::int64_t count);

  std::map<std::string, std::int64_t> next_;
  std::map<std::string, Identity> identities_;
  std::set<std::string> identities_seen_;
  std::vector<std::uint32_t> acknowledgements_;
  std::string complaint_;
  int requests_ = 0;
  int hellos_ = 0;
  int repeats_ = 0;
};

}  // namespace seqd::testing
