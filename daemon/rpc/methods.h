// The methods of the wire: what each takes, checks and answers. The only place that translates
// between the wire and the core. Functions without state; loop thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>

#include "daemon/core/history/history_recorder.h"
#include "daemon/core/insert/insert_queues.h"
#include "daemon/core/registers/registers.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/core/upkeep/purge.h"
#include "daemon/rpc/control.h"
#include "daemon/rpc/history/history_asker.h"
#include "daemon/rpc/reply_writer.h"
#include "daemon/rpc/sessions.h"
#include "protocol/messages.h"

namespace seqd {

// Limits that the methods check, by the names of the reply to `hello`.
struct MethodLimits {
  protocol::FrameLimits frame;
  std::size_t name = 128;
  std::int64_t count = 100'000;
  std::uint32_t pipeline = 4'096;
  bool blocks = true;  // some sequence may have them; not in the reply
};

// By their names. Unknown: there is no such method.
enum class MethodId : std::uint8_t {
#define METHOD(name, right, reply) name,
#include "daemon/rpc/methods.def"
#undef METHOD
  unknown,
};

// What the Server counts, for `status` and the metrics.
struct ServerCounts {
  std::uint64_t connections = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(MethodId::unknown) + 1> requests_of{};
  void count(MethodId method) { ++requests_of[static_cast<std::size_t>(method)]; }
  std::uint64_t requests() const {
    return std::accumulate(requests_of.begin(), requests_of.end(), std::uint64_t{0});
  }
  std::uint64_t notifications_ignored = 0;
};

// The drains of all sequences and advances of a store that are under way, by user; expired: it has
// ended. See check_slot().
struct DrainsOfAll {
  static constexpr std::size_t kMost = 4;  // of which the last is for root and the daemon's user
  std::map<UserId, std::weak_ptr<void>> by_user;
};

// Everything a method may use.
struct MethodContext {
  SequenceTable& table;
  Control& control;
  Clock& clock;
  Sessions& sessions;
  HistoryAsker* history;      // null: no history is kept
  HistoryRecorder* recorder;  // the same
  InsertQueues* inserts;      // null: no sequence inserts
  Registers* registers;       // null: there are none
  Purge* purge;               // null: no store has old counters
  EventSink* events;          // null: no events are raised
  const MethodLimits& limits;
  const ServerCounts& counts;
  DrainsOfAll& drains_of_all;
  std::uint64_t settings_version;  // counts the configurations that were in force
};

// One call. Writes the reply to `session.out`, or queues the request in the core.
using Method = void (*)(const MethodContext& context, Session& session,
                        const protocol::Message& message);

enum class Right : std::uint8_t {
  connect,     // every connected user may call it
  administer,  // it changes state for others: see rights.h
};

enum class ReplySize : std::uint8_t {
  brief,    // bounded
  lengthy,  // grows with what the daemon has: its room is counted before the reply is made
  page,     // lengthy; a walk past a thousand sequences or connections, or many options: few a turn
};

struct Route {
  std::string_view name;
  MethodId id;
  Method method;
  Right right;
  ReplySize reply;
};

// Every method, in the order of MethodId.
std::span<const Route> all_routes();
// Null when there is no such method.
const Route* find_method(std::string_view name);
// The names of all, for the error text.
std::string method_names();

// The two that the fast path calls. FastRequest::again: it is that which this session sent last.
void call_next(const MethodContext& context, Session& session,
               const protocol::FastRequest& request);
void call_range(const MethodContext& context, Session& session,
                const protocol::FastRequest& request);

// Drops the requests of the session that wait: their replies are no longer needed.
void forget_waiting(const MethodContext& context, const Session& session);

// An acknowledgement that came as a notification.
void notified_ack(const MethodContext& context, Session& session, const protocol::Message& message);

}  // namespace seqd
