#include "client-lib/client.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "client-lib/session/monotonic.h"

namespace seqd::engine {
namespace {

// From here on a time-out may be a hundredth longer.
constexpr std::int64_t kLongTimeoutMs = 1'000;

// More than a socket's buffer holds, so that reading from a daemon that keeps writing ends, too.
constexpr int kLastReads = 64;

template <typename Bytes>
bool fill_randomly(Bytes& bytes) {
  return ::getrandom(&bytes, sizeof(bytes), 0) == static_cast<ssize_t>(sizeof(bytes));
}

// These pass without a change: the daemon restarts, or its queue is full.
bool is_worth_a_retry(int error) {
  return error == ENOENT || error == ECONNREFUSED || error == ECONNRESET || error == EPIPE ||
         error == EAGAIN || error == EINTR;
}

std::int64_t allowed_behind_ms(const ClientOptions& options) {
  const std::int64_t behind_ms = most_behind_ms();
  const bool long_enough =
      std::min(options.timeout_ms, options.connect_timeout_ms) >= kLongTimeoutMs;
  return long_enough && behind_ms <= kLongTimeoutMs / 100 ? behind_ms : -1;
}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

std::string error_text(int error) {
  // strerror() is not safe in threads, and the variants of strerror_r() differ; this one is fixed.
  const char* text = ::strerrordesc_np(error);
  return text == nullptr ? "error " + std::to_string(error) : text;
}

// A hint for a user that is denied: the group whose members may connect. The group's name may be in
// a directory that is far away, and the time-out of the call does not end a look-up.
std::string members_may_connect(const std::string& socket) {
  struct stat facts {};
  if (::stat(socket.c_str(), &facts) != 0 || (facts.st_mode & S_IWGRP) == 0) return "";
  const std::string group = std::to_string(facts.st_gid);
  return "; members of the group " + group + " may connect (getent group " + group + ")";
}

SessionSettings session_settings(const ClientOptions& options, const protocol::Identity& identity) {
  SessionSettings settings;
  settings.hello.name = options.name;
  if (!options.anonymous) settings.hello.client = identity;
  settings.limits_wait = !options.daemon_decides_wait;
  settings.timeout_ms = options.timeout_ms;
  return settings;
}

}  // namespace

Outcome Client::open(const ClientOptions& options, std::unique_ptr<Client>& client) {
  protocol::Identity identity = {};
  std::uint64_t seed = 0;
  if (!fill_randomly(identity) || !fill_randomly(seed))
    return {SEQD_E_SYSTEM, "the system returned no random bytes"};
  client.reset(new Client(options, identity, seed));
  return {};
}

// options_ comes before session_, which keeps a view of the name in it.
Client::Client(const ClientOptions& options, const protocol::Identity& identity,
               std::uint64_t random)
    : options_(options),
      behind_ms_(allowed_behind_ms(options)),
      session_(session_settings(options_, identity)),
      random_(random | 1) {
  connection_.set_busy_poll(options_.busy_poll_us);
}

Client::~Client() {
  if (!connection_.is_open() || is_forked()) return;
  try {
    session_.acknowledge_all();
    (void)connection_.send(session_.output());
  } catch (...) {
    // Without memory, no acknowledgement is sent: the daemon sees the end of the connection.
  }
  connection_.end_for_all();
}

std::uint64_t Client::random() {
  // xorshift64: enough for jitter.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_;
}

// --- requests

Outcome Client::submit(Request&& request, std::uint32_t& number) {
  if (session_.wants_identity()) {
    protocol::Identity identity = {};
    if (!fill_randomly(identity)) return {SEQD_E_SYSTEM, "the system returned no random bytes"};
    close_connection();
    session_.renew(options_.anonymous ? std::nullopt : std::optional(identity));
  }
  // What is sent into a connection that has ended is lost, and an insert is not sent twice.
  if (request.method == Request::Method::insert) receive_idle();
  const NextRequest next = next_request(nullptr);
  request.deadline_ms = next.deadline_ms;
  request.connect_deadline_ms = next.connect_deadline_ms;
  number = session_.submit(std::move(request));
  if (number == 0)
    return {SEQD_E_FULL, "too many requests are in flight: collect replies with seqd_poll first"};
  return {};
}

Outcome Client::submit(Request&& request) {
  std::uint32_t number = 0;
  return submit(std::move(request), number);
}

Outcome Client::call(Request&& request, Answer& answer) {
  request.synchronous = true;
  std::uint32_t number = 0;
  Outcome submitted = submit(std::move(request), number);
  if (!submitted.ok()) return submitted;
  return await(number, answer);
}

Outcome Client::call_next(const char* name, std::int64_t& id) {
  if (!session_.wants_identity()) {
    NextRequest next = next_request(nullptr);
    next.synchronous = true;
    std::uint32_t number = session_.submit_kept(name, next);
    if (number == 0) number = session_.submit_next(name, next);
    if (number != 0) {
      step_for(number, first_step_ms(next));
      if (session_.synchronous().take_id(number, id)) return {};
      Answer answer;
      Outcome outcome = await(number, answer);
      if (outcome.ok()) id = answer.first.first;
      return outcome;
    }
  }
  Request request;
  request.name = name;
  Answer answer;
  Outcome outcome = call(std::move(request), answer);
  if (outcome.ok()) id = answer.first.first;
  return outcome;
}

// With a connection it needs no other look at the clock: the tick that begin_ms() has read, to
// which it added behind_ms_, is not later than now.
std::int64_t Client::first_step_ms(const NextRequest& next) const {
  if (behind_ms_ < 0 || !connection_.is_open()) return monotonic_ms();
  return next.deadline_ms - options_.timeout_ms - behind_ms_;
}

// Ends: at the request's deadline at the latest the session answers it, as late.
Outcome Client::await(std::uint32_t number, Answer& answer) {
  while (!session_.synchronous().take(number, answer)) step_for(number, monotonic_ms());
  return std::move(answer.outcome);
}

void Client::step_for(std::uint32_t number, std::int64_t now_ms) {
  try {
    step(INT64_MAX, now_ms);
  } catch (...) {
    // Memory may have ended behind the answer, at that of another request. The answer holds.
    if (!session_.synchronous().has_arrived(number)) throw;
    recovers_ = true;
    close_socket();
  }
}

void Client::poll(std::int64_t timeout_ms, std::size_t capacity) {
  session_.answers().drop_delivered();
  receive_idle();
  send_idle();
  std::int64_t now = monotonic_ms();
  const std::int64_t until = now + timeout_ms;
  // One turn in any case, so that polling without waiting sends and receives too.
  bool over = false;
  while (session_.answers().count() == 0 && session_.in_flight() > 0 && !over) {
    step(until, now);
    if (session_.answers().count() > 0) break;
    now = monotonic_ms();
    over = now >= until;
  }
  session_.answers().deliver(capacity);
}

void Client::send_only() {
  if (connection_.is_open() && prepare_output()) (void)connection_.send(session_.output());
}

bool Client::prepare_output() {
  session_.fill_output(monotonic_ms());
  return !session_.output().empty();
}

std::int64_t Client::idle_ms() const {
  std::int64_t until = session_.next_deadline_ms().value_or(INT64_MAX);
  if (session_.answers().count() > 0) until = 0;
  if (session_.in_flight() > 0 && !connection_.is_open()) until = std::min(until, next_attempt_ms_);
  if (until == INT64_MAX) return -1;
  return std::max<std::int64_t>(until - monotonic_ms(), 0);
}

// --- one step

void Client::step(std::int64_t until_ms, std::int64_t now_ms) {
  const std::optional<std::int64_t> deadline_ms = give_up_late(now_ms);
  if (!deadline_ms) return drop_unsent();
  until_ms = std::min(until_ms, *deadline_ms);
  if (!connection_.is_open() && !connect(until_ms, now_ms)) return;
  if (send_requests(now_ms)) receive_until(until_ms, now_ms);
}

// Answers what is over its deadline. Returns the next deadline; none: nothing is in flight.
std::optional<std::int64_t> Client::give_up_late(std::int64_t now_ms) {
  const std::optional<std::int64_t> deadline_ms = session_.next_deadline_ms();
  if (deadline_ms && *deadline_ms > now_ms && !session_.too_many_late()) return deadline_ms;
  session_.expire(now_ms, unreachable());
  if (session_.too_many_late()) lose("the daemon does not answer");
  return session_.next_deadline_ms();
}

// Nothing is in flight: everything was given up.
void Client::drop_unsent() {
  // What is not sent yet must not be carried out later.
  if (connection_.is_open() && !session_.output().empty()) close_connection();
  send_idle();
}

// Makes the next attempt, or waits until it is due. Whether there is a connection.
bool Client::connect(std::int64_t until_ms, std::int64_t now_ms) {
  if (now_ms < next_attempt_ms_) {
    connection_.wait(false, std::min(until_ms, next_attempt_ms_) - now_ms);
    return false;
  }
  const int error = connection_.open(options_.socket_path);
  if (error == 0) {
    ++generation_;
    session_.connected();
    return true;
  }
  if (is_worth_a_retry(error)) {
    why_not_connected_ = error_text(error);
    next_attempt_ms_ = now_ms + back_off_.next_delay_ms(random());
    return false;
  }
  session_.fail_all({is_shortage(error) ? SEQD_E_SYSTEM : SEQD_E_CONNECT,
                     "cannot connect to " + options_.socket_path + ": " + error_text(error) +
                         (error == EACCES ? members_may_connect(options_.socket_path) : "")});
  return false;
}

// False: there is nothing to wait for, because the connection is lost or an answer is there.
bool Client::send_requests(std::int64_t now_ms) {
  const std::size_t in_flight = session_.in_flight();
  session_.fill_output(now_ms);
  if (const int error = connection_.send(session_.output()); error != 0) {
    // Replies that the daemon sent before it closed may still be there to read.
    take_arrived();
    if (connection_.is_open()) lose(error_text(error));
    return false;
  }
  // What did not fit this write waits for room in the socket.
  if (session_.any_unsent()) session_.fill_output(now_ms);
  // A request that is above a limit of the daemon has its answer already.
  return session_.in_flight() == in_flight;
}

// Waits for replies, or for room to send the rest, and takes in what has arrived.
void Client::receive_until(std::int64_t until_ms, std::int64_t now_ms) {
  if (!session_.output().empty()) {
    connection_.wait(true, until_ms - now_ms);
    receive();
  } else {
    take_received(until_ms > now_ms ? connection_.receive_within(until_ms - now_ms)
                                    : connection_.receive());
  }
  send_idle();
}

void Client::receive_idle() {
  if (session_.in_flight() == 0) take_arrived();
}

void Client::take_arrived() {
  if (!connection_.is_open()) return;
  for (int reads = 0; reads < kLastReads && receive();) ++reads;
}

void Client::show_end() noexcept {
  try {
    take_arrived();
    if (connection_.is_open() || connection_.open(options_.socket_path) != 0) return;
    session_.connected();
    (void)connection_.send(session_.output());
  } catch (...) {
    // Without memory the daemon waits for this client as it does for one that was killed.
  }
}

// The acknowledgement that no request follows. What the socket does not take waits for a poll.
void Client::send_idle() {
  if (session_.in_flight() > 0 || !connection_.is_open()) return;
  if (session_.output().empty() && !session_.owes_acknowledgement()) return;
  if (!prepare_output()) return;
  if (const int error = connection_.send(session_.output()); error != 0) lose(error_text(error));
}

bool Client::receive() {
  return take_received(connection_.receive());
}

bool Client::take_received(const Connection::Received& received) {
  if (received.kind == Connection::Received::Kind::nothing_yet) return false;
  if (received.kind == Connection::Received::Kind::lost) {
    lose(received.error == 0 ? "the daemon closed the connection" : error_text(received.error));
    return false;
  }
  const Session::Verdict verdict = session_.receive(received.bytes);
  if (session_.proved()) back_off_.reset();
  if (verdict == Session::Verdict::reconnect) lose(session_.trouble().text);
  if (verdict == Session::Verdict::broken) {
    const Outcome trouble = session_.trouble();
    close_connection();
    session_.fail_all(trouble);
  }
  return verdict == Session::Verdict::keep;
}

void Client::close_socket() {
  if (connection_.is_open()) ++generation_;
  connection_.close();
}

void Client::close_connection() {
  close_socket();
  session_.disconnected(monotonic_ms() + options_.connect_timeout_ms);
}

void Client::lose(std::string why) {
  close_connection();
  why_not_connected_ = std::move(why);
  next_attempt_ms_ = monotonic_ms() + back_off_.next_delay_ms(random());
}

Outcome Client::late() const {
  return session_.ready() ? Outcome{SEQD_E_TIMEOUT, "the daemon did not answer in time"}
                          : unreachable();
}

Outcome Client::unreachable() const {
  const std::string why = connection_.is_open()        ? "it accepts connections but does not reply"
                          : why_not_connected_.empty() ? "there was no time to connect"
                                                       : why_not_connected_;
  return {SEQD_E_CONNECT, "no daemon answers at " + options_.socket_path + ": " + why};
}

int Client::recover() noexcept {
  const int code =
      session_.synchronous_may_have_inserted() ? SEQD_E_OUTCOME_UNKNOWN : SEQD_E_MEMORY;
  recovers_ = true;
  close_socket();
  try {
    recover_fully();
  } catch (...) {
    // The next call tries again.
  }
  return code;
}

void Client::recover_fully() {
  session_.abandon_synchronous();
  close_connection();
  recovers_ = false;
}

}  // namespace seqd::engine
