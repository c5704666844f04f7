// Client: what a handle of libseqd is: a Session on a Connection, with deadlines, reconnects and
// back-off. It is driven by the caller: nothing happens between calls. One thread at a time, in the
// process that made it.
//
// Invariant: connection open <=> session connected; a request leaves the session only with an
// answer, an error of the library's or at its deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client-lib/session/back_off.h"
#include "client-lib/session/connection.h"
#include "client-lib/session/monotonic.h"
#include "client-lib/session/outcome.h"
#include "client-lib/session/process_mark.h"
#include "client-lib/session/session.h"

namespace seqd::engine {

struct ClientOptions {
  std::string socket_path;
  std::string name;
  std::int64_t timeout_ms = 5'000;
  std::int64_t connect_timeout_ms = 5'000;
  std::int64_t busy_poll_us = 0;
  bool anonymous = false;
  bool daemon_decides_wait = false;  // requests do not say how long they may wait for an ID
};

// What the caller's options mean: defaults, the environment, bounds. `options` may be null.
Outcome read_options(const seqd_options* options, ClientOptions& out);

class Client {
 public:
  static Outcome open(const ClientOptions& options, std::unique_ptr<Client>& client);
  // Acknowledges what has arrived, without waiting; ends the connection, also for children.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Queues; sends nothing. Deadlines are filled in.
  Outcome submit(Request&& request);
  // The same of a `next` in fewer steps, and in yet fewer where the last ones had that name, too.
  // False: the one before says why.
  bool submit_next(std::string_view name, void* tag) {
    return !session_.wants_identity() && session_.submit_next(name, next_request(tag)) != 0;
  }
  bool submit_next_again(const char* name, void* tag) {
    return session_.submit_kept(name, next_request(tag)) != 0;
  }
  // The same; the number is the request's in every repeat.
  Outcome submit(Request&& request, std::uint32_t& number);
  // Waits for the answer. The outcome is the answer's.
  Outcome call(Request&& request, Answer& answer);
  Outcome call_next(const char* name, std::int64_t& id);  // the name is not empty
  // Waits at most `timeout_ms` for the first answer; then delivers up to `capacity` of them.
  void poll(std::int64_t timeout_ms, std::size_t capacity);
  std::size_t delivered_count() const { return session_.answers().delivered_count(); }
  // Valid until the next call that is not const.
  const Answer& delivered(std::size_t at) const { return session_.answers().delivered(at); }

  std::size_t pending() const { return session_.pending(); }
  int descriptor() const { return connection_.descriptor(); }
  // Another one when the descriptor is closed or opened.
  std::uint64_t generation() const { return generation_; }
  // Whether there is something to send.
  bool wants_to_write();
  // How long from now poll() may stay uncalled; -1: for ever.
  std::int64_t idle_ms() const;
  // Sends what can be sent now, if there is a connection. The next poll() notices its loss.
  void send_only();
  // Takes in what has arrived before anything is given up as late; does not wait.
  void take_arrived();
  // Before the end of a client that has blocks: the daemon ends them when it sees the connection
  // end, so one that was lost is made once more, as far as that goes without waiting.
  void show_end() noexcept;
  // The user that created the daemon's socket, if known.
  std::optional<uid_t> peer_user() const { return connection_.peer_user(); }
  // What a request that has no answer yet fails with when its time is over.
  Outcome late() const;
  const HelloAnswer& daemon() const { return session_.daemon(); }
  // Whether this process is a copy of the one that opened the handle.
  bool is_forked() const { return mark_.is_copied(); }
  // In a child after fork(), instead of the destructor: closes its copy of the connection, and
  // frees nothing: threads of the parent may have been in the middle of a change.
  void leave_to_parent() { connection_.close(); }

  // After an exception (memory) in the middle of a call: what it ends with, SEQD_E_MEMORY or
  // SEQD_E_OUTCOME_UNKNOWN. The connection is dropped, so that every request is in a known state.
  int recover() noexcept;
  // Before every call: drops what the last one delivered, and does the rest of recover(), if there
  // was no memory for that either.
  void begin_call() {
    session_.answers().drop_delivered();
    if (recovers_) recover_fully();
  }

 private:
  Client(const ClientOptions& options, const protocol::Identity& identity, std::uint64_t random);

  // When the time of a request begins: not earlier than now, but see most_behind_ms().
  std::int64_t begin_ms() const {
    return behind_ms_ >= 0 ? last_tick_ms() + behind_ms_ : monotonic_ms();
  }
  NextRequest next_request(void* tag) const {
    const std::int64_t begin = begin_ms();
    return {tag, begin + options_.timeout_ms, begin + options_.connect_timeout_ms, false};
  }
  Outcome enter(Request&& request, std::uint32_t& number);
  // Waits for the answer to the synchronous request of that number.
  Outcome await(std::uint32_t number, Answer& answer);
  // One step: connects, sends, receives, or waits for any of these until `until_ms` at most.
  void turn(std::int64_t until_ms, std::int64_t now_ms);
  // The same of a call, as long as it takes.
  void turn_for(std::uint32_t number, std::int64_t now_ms);
  void try_to_connect(std::int64_t now_ms);
  // Whether there were bytes, and the connection continues.
  bool receive();
  bool take(const Connection::Received& received);
  // The connection is of no use any more: what is unanswered goes over the next one.
  void lose(std::string why);
  // Reads what came while nothing was in flight: the end of the connection, or late answers.
  void receive_idle();
  void send_idle();
  void close_connection();
  void close_socket();
  Outcome unreachable() const;
  std::uint64_t random();
  void recover_fully();

  const ClientOptions options_;
  // How much later than the last tick it may be; -1: that is too much beside the time-outs.
  const std::int64_t behind_ms_;
  const ProcessMark mark_;
  Session session_;
  Connection connection_;
  BackOff back_off_;
  std::uint64_t random_;
  std::int64_t next_attempt_ms_ = 0;
  std::uint64_t generation_ = 0;
  bool recovers_ = false;  // recover_fully() is due
  std::string why_not_connected_;
};

}  // namespace seqd::engine
