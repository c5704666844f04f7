// Client: the engine behind a handle of libseqd: a Session on a Connection, with deadlines,
// reconnects and back-off. It is driven by the caller: nothing happens between calls. One thread at
// a time, in the process that made it; its copy in a child has is_forked() and leave_to_parent().
//
// Invariants: between calls the connection is open if and only if the session is connected, unless
// recovers_ is set. A request gets one answer: the daemon's, or an error of the library, at its
// deadline at the latest; none if its call ends by an exception, or the handle is closed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client-lib/client_options.h"
#include "client-lib/session/back_off.h"
#include "client-lib/session/connection.h"
#include "client-lib/session/monotonic.h"
#include "client-lib/session/outcome.h"
#include "client-lib/session/process_mark.h"
#include "client-lib/session/session.h"

namespace seqd::engine {

class Client {
 public:
  // Connects nothing: the first request does.
  static Outcome open(const ClientOptions& options, std::unique_ptr<Client>& client);
  // Acknowledges what has arrived, without waiting; ends the connection, also its copies in other
  // processes. In a child only closes its copy.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Queues the request with its deadlines, under a new identity if the numbers of the present one
  // are used up; sends nothing. `number` is the request's msgid, in a repeat too.
  Outcome submit(Request&& request, std::uint32_t& number);
  Outcome submit(Request&& request);
  // Queues a `next` in fewer steps, and in yet fewer where the session keeps that name (see
  // RequestTable). False: submit() does it, or says why not.
  bool submit_next(std::string_view name, void* tag) {
    return !session_.wants_identity() && session_.submit_next(name, next_request(tag)) != 0;
  }
  bool submit_next_again(const char* name, void* tag) {
    return session_.submit_kept(name, next_request(tag)) != 0;
  }
  // Submits and waits for the answer. Returns the outcome of either.
  Outcome call(Request&& request, Answer& answer);
  Outcome call_next(const char* name, std::int64_t& id);  // the name is not empty
  // Waits at most `timeout_ms` for the first answer, if there is none and any request is in flight;
  // then delivers up to `capacity` answers.
  void poll(std::int64_t timeout_ms, std::size_t capacity);
  std::size_t delivered_count() const { return session_.answers().delivered_count(); }
  // Valid until the next call that is not const.
  const Answer& delivered(std::size_t at) const { return session_.answers().delivered(at); }

  std::size_t pending() const { return session_.pending(); }
  int descriptor() const { return connection_.descriptor(); }
  // Another number whenever a call closes or opens the descriptor (but for show_end()).
  std::uint64_t generation() const { return generation_; }
  // Whether there is something to send now; puts it into the session's output.
  bool prepare_output();
  // How long from now poll() may stay uncalled if nothing arrives; -1: for ever.
  std::int64_t idle_ms() const;
  // Sends what can be sent now, if there is a connection. If it is lost, the next poll() finds out.
  void send_only();
  // Takes in what has arrived, so that none of it is given up as late; does not wait.
  void take_arrived();
  // The last call of a client that has blocks. The daemon ends them when it sees the connection
  // end; so if that was lost, another one is opened to be ended, without waiting.
  void show_end() noexcept;
  // The user that created the daemon's socket, if known; while there is a connection.
  std::optional<uid_t> peer_user() const { return connection_.peer_user(); }
  // The error of a request whose time is over now.
  Outcome late() const;
  const HelloAnswer& daemon() const { return session_.daemon(); }
  // Whether this process is a copy (by fork) of the one that opened the handle.
  bool is_forked() const { return mark_.is_copied(); }
  // In a child after fork(), instead of the destructor: closes its copy of the connection, and
  // frees nothing: threads of the parent may have been in the middle of a change.
  void leave_to_parent() { connection_.close(); }

  // After an exception (memory) in the middle of a call, whose result this is: SEQD_E_MEMORY or
  // SEQD_E_OUTCOME_UNKNOWN. The connection is closed, so that every request is in a known state.
  int recover() noexcept;
  // Before every call: drops what the last one delivered, and does what is left of recover().
  void begin_call() {
    session_.answers().drop_delivered();
    if (recovers_) recover_fully();
  }

 private:
  Client(const ClientOptions& options, const protocol::Identity& identity, std::uint64_t random);

  // When the time of a request begins: now, or a little later if a coarse clock was read instead,
  // which takes less time; see most_behind_ms().
  std::int64_t begin_ms() const {
    return behind_ms_ >= 0 ? last_tick_ms() + behind_ms_ : monotonic_ms();
  }
  NextRequest next_request(void* tag) const {
    const std::int64_t begin = begin_ms();
    return {tag, begin + options_.timeout_ms, begin + options_.connect_timeout_ms, false};
  }
  // The time of the first step of a synchronous request.
  std::int64_t first_step_ms(const NextRequest& next) const;
  // Waits for the answer to the synchronous request of that number.
  Outcome await(std::uint32_t number, Answer& answer);
  // Gives up what is late, connects, sends, and receives. Waits at most once, until `until_ms` or
  // the next deadline. Its steps follow.
  void step(std::int64_t until_ms, std::int64_t now_ms);
  std::optional<std::int64_t> give_up_late(std::int64_t now_ms);
  bool connect(std::int64_t until_ms, std::int64_t now_ms);
  bool send_requests(std::int64_t now_ms);
  void receive_until(std::int64_t until_ms, std::int64_t now_ms);
  // step() of a synchronous request: an exception behind its answer does not lose the answer.
  void step_for(std::uint32_t number, std::int64_t now_ms);
  // Takes in what has arrived. Whether there were bytes, and the connection is kept.
  bool receive();
  bool take_received(const Connection::Received& received);
  void close_socket();
  void close_connection();     // and what is unanswered goes over the next one
  void lose(std::string why);  // the same, after a pause
  void drop_unsent();          // the same as close_connection(), if nothing is in flight
  // While nothing is in flight: reads the end of the connection, or late answers.
  void receive_idle();
  // While nothing is in flight: sends the acknowledgement that no request follows.
  void send_idle();
  Outcome unreachable() const;
  std::uint64_t random();
  void recover_fully();

  const ClientOptions options_;
  // How much later than the kernel's last tick it may be; -1: too much for these time-outs.
  const std::int64_t behind_ms_;
  const ProcessMark mark_;
  Session session_;
  Connection connection_;
  BackOff back_off_;
  std::uint64_t random_;
  std::int64_t next_attempt_ms_ = 0;
  std::uint64_t generation_ = 0;
  bool recovers_ = false;  // recover_fully() is due: the next call does it
  std::string why_not_connected_;
};

}  // namespace seqd::engine
