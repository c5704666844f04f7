#include "client-lib/session/session.h"

#include <algorithm>
#include <utility>

#include "protocol/fast/fast_reply.h"
#include "protocol/limits.h"
#include "protocol/messages.h"
#include "protocol/values/value_writer.h"

namespace seqd::engine {
namespace {

// Enough for one write; more requests follow when this much is gone.
constexpr std::size_t kOutputBytes = 64 * 1024;

// The daemon gives up a little before the client does, so that the caller gets the daemon's reason
// instead of a time-out, and no ID is issued that arrives too late.
std::optional<std::int64_t> wait_within(std::int64_t left_ms, const SessionSettings& settings) {
  if (!settings.limits_wait) return std::nullopt;
  left_ms = std::min(left_ms, settings.timeout_ms);
  return std::clamp<std::int64_t>(left_ms - left_ms / 10 - (left_ms < 10 ? 1 : 0), 0,
                                  protocol::kMaxTimeoutMs);
}

std::uint32_t limit_of(const HelloAnswer& daemon, std::string_view name, std::int64_t most) {
  const auto found = daemon.limits.find(name);
  return static_cast<std::uint32_t>(
      found == daemon.limits.end() ? most : std::clamp<std::int64_t>(found->second, 0, most));
}

// Returns the error that the daemon would send for the request, because it would also close the
// connection.
Outcome check_limits(const HelloAnswer& daemon, std::span<const std::uint8_t> request) {
  protocol::FrameScanner scanner({limit_of(daemon, "frame", protocol::kFrameLimit.max),
                                  limit_of(daemon, "depth", protocol::kDepthLimit.max)});
  const protocol::ScanResult scan = scanner.scan(request);
  if (scan.kind == protocol::ScanResult::Kind::complete) return {};
  return {result_code(scan.error), std::string(scan.text)};
}

// Whether the request is an insert that was sent.
bool was_sent_as_insert(const RequestTable& table, std::uint32_t number) {
  const Request* const request = table.find(number);
  return request != nullptr && request->method == Request::Method::insert &&
         (request->sent_before || table.is_sent(number));
}

}  // namespace

Session::Session(const SessionSettings& settings)
    : settings_(settings), table_(settings_.first_number), scanner_(protocol::kReplyLimits) {}

// --- requests

std::uint32_t Session::submit(Request&& request) {
  if (is_full()) return 0;
  const bool synchronous = request.synchronous;
  return entered(table_.add(std::move(request)), synchronous);
}

std::uint32_t Session::submit_next(std::string_view name, const NextRequest& next) {
  return is_full() ? 0 : entered(table_.add_next(name, next), next.synchronous);
}

std::size_t Session::pending() const {
  return table_.size() + answers_.count() - (table_.find(synchronous_.number()) != nullptr ? 1 : 0);
}

bool Session::synchronous_may_have_inserted() const {
  return was_sent_as_insert(table_, synchronous_.number());
}

void Session::abandon_synchronous() {
  if (table_.find(synchronous_.number()) != nullptr) table_.finish(synchronous_.number());
  synchronous_.drop();
}

Answer& Session::place_for(const Request& request) {
  return request.synchronous ? synchronous_.arrive() : answers_.add();
}

void Session::finish(std::uint32_t number, Answer&& answer) {
  const Request& request = *table_.find(number);
  answer.tag = request.tag;
  // First kept, then taken off the table: if memory ends here, the request is still known.
  place_for(request) = std::move(answer);
  table_.finish(number);
}

void Session::expire(std::int64_t now_ms, const Outcome& unreachable) {
  // All requests of a handle have the same time-out, so deadlines rise with the numbers.
  while (!table_.empty()) {
    const std::uint32_t number = table_.first_unanswered();
    const Request& request = *table_.find(number);
    if (deadline_ms(request) > now_ms) return;
    Answer answer;
    answer.outcome =
        ready_ ? Outcome{SEQD_E_TIMEOUT, "the daemon did not answer in time"} : unreachable;
    note_perhaps_inserted(number, answer.outcome);
    if (table_.is_sent(number)) late_.insert(number);
    finish(number, std::move(answer));
  }
}

std::optional<std::int64_t> Session::next_deadline_ms() const {
  if (table_.empty()) return std::nullopt;
  return deadline_ms(*table_.find(table_.first_unanswered()));
}

std::int64_t Session::deadline_ms(const Request& request) const {
  // A daemon that starts is slow to say hello; only one that is absent has the shorter time.
  if (connected_) return request.deadline_ms;
  return std::min(request.deadline_ms, std::max(request.connect_deadline_ms, reconnect_until_ms_));
}

void Session::fail_all(const Outcome& outcome) {
  while (!table_.empty()) {
    Answer answer;
    answer.outcome = outcome;
    note_perhaps_inserted(table_.first_unanswered(), answer.outcome);
    finish(table_.first_unanswered(), std::move(answer));
  }
}

// For any cause of the missing answer.
void Session::note_perhaps_inserted(std::uint32_t number, Outcome& outcome) const {
  if (!was_sent_as_insert(table_, number)) return;
  outcome = {SEQD_E_OUTCOME_UNKNOWN, "the document may have been inserted: " + outcome.text};
}

void Session::give_up_inserts() {
  while (const std::uint32_t number = table_.first_unrepeatable()) {
    Answer answer;
    answer.outcome = {SEQD_E_OUTCOME_UNKNOWN, "the connection to the daemon was lost"};
    note_perhaps_inserted(number, answer.outcome);
    finish(number, std::move(answer));
  }
}

void Session::renew(std::optional<protocol::Identity> identity) {
  settings_.hello.client = identity;
  table_ = RequestTable(1);
}

// --- the connection, outward

void Session::connected() {
  reset_connection();
  connected_ = true;
  protocol::append_hello(output_, kHelloNumber, settings_.hello);
}

void Session::disconnected(std::int64_t reconnect_until_ms) {
  if (ready_) reconnect_until_ms_ = reconnect_until_ms;
  reset_connection();
}

void Session::reset_connection() {
  give_up_inserts();
  input_.clear();
  output_.clear();
  scanner_.reset();
  late_.clear();
  connected_ = false;
  ready_ = false;
  proved_ = false;
  stopping_ = false;
  acknowledgement_.disconnected();
  table_.mark_all_unsent();
}

void Session::fill_output(std::int64_t now_ms) {
  if (!ready_ || stopping_) return;
  while (output_.size() < kOutputBytes) {
    const std::uint32_t number = table_.first_unsent();
    if (number == 0 || number - table_.first_unanswered() >= acknowledgement_.window()) {
      if (acknowledgement_.is_due_at_rest(table_.first_unanswered(), table_.empty(), now_ms))
        acknowledge_all();
      return;
    }
    acknowledgement_.requests(now_ms);
    if (acknowledgement_.is_due_at(number)) acknowledge_all();
    if (table_.is_kept(number)) {
      write_run(number, now_ms);
    } else if (Outcome outcome = write_request(number, *table_.find(number), now_ms);
               outcome.ok()) {
      table_.mark_sent(number);
    } else {
      Answer answer;
      answer.outcome = std::move(outcome);
      note_perhaps_inserted(number, answer.outcome);
      finish(number, std::move(answer));
    }
  }
}

// As far as the daemon's window and the next acknowledgement, or one request at least.
void Session::write_run(std::uint32_t number, std::int64_t now_ms) {
  const std::int64_t left_ms = table_.find(number)->deadline_ms - now_ms;
  kept_writer_.set(table_.name(number), wait_within(left_ms, settings_));
  const std::int64_t window_left = acknowledgement_.window() - (number - table_.first_unanswered());
  const auto most =
      static_cast<std::size_t>(std::min(window_left, acknowledgement_.next_after(number)));
  // An acknowledgement may have filled it.
  const std::size_t room = kOutputBytes - std::min(kOutputBytes, output_.size());
  const std::size_t fitting = kept_writer_.fitting(room);
  const std::size_t count =
      table_.mark_run_sent(number, std::max(std::min(most, fitting), std::size_t{1}));
  kept_writer_.write(output_, number, count);
}

// An error: it is above a limit of the daemon, and nothing was written.
Outcome Session::write_request(std::uint32_t number, const Request& request, std::int64_t now_ms) {
  const std::size_t before = output_.size();
  const std::optional<std::int64_t> wait = wait_within(request.deadline_ms - now_ms, settings_);
  switch (request.method) {
    case Request::Method::next:
      next_writer_.set(request.name, wait);
      next_writer_.write(output_, number, 1);
      return {};
    case Request::Method::next_text:
      protocol::append_next_text(output_, number, request.name, wait);
      return {};
    case Request::Method::range:
      protocol::append_range(output_, number, request.name, request.count, wait);
      return {};
    case Request::Method::peek:
      protocol::append_peek(output_, number, request.name);
      return {};
    case Request::Method::insert:
      protocol::append_insert(output_, number, request.name, request.params(),
                              {wait, daemon_.connection, request.unique()});
      break;
    case Request::Method::call:
      protocol::append_array(output_, 4);
      protocol::append_integer(output_, 0);
      protocol::append_integer(output_, number);
      protocol::append_text(output_, request.name);
      output_.append(request.params());
  }
  // Only these two can be long or deep.
  Outcome outcome = check_limits(daemon_, output_.bytes().subspan(before));
  if (!outcome.ok()) output_.truncate(before);
  return outcome;
}

void Session::acknowledge_all() {
  if (!ready_ || !settings_.hello.client || !acknowledgement_.say(table_.first_unanswered()))
    return;
  protocol::append_ack(output_, table_.first_unanswered());
}

// --- the connection, inward

Session::Verdict Session::in_trouble(Verdict verdict, Outcome outcome) {
  trouble_ = std::move(outcome);
  return verdict;
}

Session::Verdict Session::receive(std::string_view bytes) {
  std::span<const std::uint8_t> left(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                     bytes.size());
  // Only a part of a message is kept.
  const bool kept = !input_.empty();
  if (kept) {
    input_.append(bytes);
    left = input_.bytes();
  }
  const Verdict verdict = take_in(left);
  if (kept)
    input_.consume(input_.size() - left.size());
  else
    input_.append({reinterpret_cast<const char*>(left.data()), left.size()});
  return verdict;
}

Session::Verdict Session::take_in(std::span<const std::uint8_t>& left) {
  while (!left.empty()) {
    if (receive_ids(left)) {
      scanner_.reset();  // it may have seen a part
      if (const Verdict verdict = after_answer(); verdict != Verdict::keep) return verdict;
      continue;
    }
    const protocol::ScanResult scan = scanner_.scan(left);
    if (scan.kind == protocol::ScanResult::Kind::need_more) return Verdict::keep;
    if (scan.kind == protocol::ScanResult::Kind::bad) {
      return in_trouble(Verdict::broken, {SEQD_E_PROTOCOL, "the daemon's bytes cannot be read: " +
                                                               std::string(scan.text)});
    }
    const Verdict verdict = receive_frame(left.first(scan.size));
    if (verdict != Verdict::keep) return verdict;
    left = left.subspan(scan.size);
  }
  return Verdict::keep;
}

[[gnu::flatten]] bool Session::receive_ids(std::span<const std::uint8_t>& left) {
  const std::size_t all = left.size();
  protocol::FastReply reply;
  while (const std::size_t size = protocol::parse_fast_reply(left, reply)) {
    const Request* request = table_.find_sent(reply.msgid);
    if (request == nullptr || request->method != Request::Method::next) break;
    // First kept, then taken off the table, as in finish().
    Answer& answer = place_for(*request);
    answer.tag = request->tag;
    answer.first = {reply.id, 1, 1};
    proved_ = true;
    acknowledgement_.answered();
    table_.finish(reply.msgid);
    left = left.subspan(size);
  }
  return left.size() != all;
}

Session::Verdict Session::receive_frame(std::span<const std::uint8_t> frame) {
  protocol::Message message;
  const protocol::ParseOutcome parsed = protocol::parse_message(frame, message);
  if (!parsed.ok()) {
    return in_trouble(Verdict::broken, {SEQD_E_PROTOCOL, "the daemon's message cannot be read: " +
                                                             std::string(parsed.text)});
  }
  // Notifications are reserved for later versions of the daemon.
  if (message.kind == protocol::Message::Kind::notification) return Verdict::keep;
  if (message.kind != protocol::Message::Kind::reply)
    return in_trouble(Verdict::broken, {SEQD_E_PROTOCOL, "the daemon sent a request"});
  const std::uint32_t number = message.msgid;
  if (number == kHelloNumber && !ready_) return receive_hello(message);
  if (!table_.is_sent(number)) return receive_late(message);

  Answer answer;
  answer.outcome = read_error(message);
  if (answer.outcome.code == SEQD_E_STOPPING) {
    stopping_ = true;
    table_.mark_unsent(number);
    trouble_ = std::move(answer.outcome);
    return after_answer();
  }
  // A refusal now proves nothing about an earlier attempt.
  if (!answer.outcome.ok() && answer.outcome.code != SEQD_E_DOCUMENT_REFUSED &&
      table_.find(number)->sent_before)
    note_perhaps_inserted(number, answer.outcome);
  if (answer.outcome.ok()) {
    Outcome read = read_result(*table_.find(number), frame, message, answer);
    if (!read.ok()) return in_trouble(Verdict::broken, std::move(read));
  }
  proved_ = true;
  acknowledgement_.answered();
  // Perhaps too much is kept for the clients of this user: this one's part can go.
  if (answer.outcome.code == SEQD_E_BUSY) acknowledgement_.request_at_next();
  finish(number, std::move(answer));
  return after_answer();
}

// A daemon that stops still owes the answers to what it took; only then is there another one.
Session::Verdict Session::after_answer() const {
  return stopping_ && !table_.any_sent() ? Verdict::reconnect : Verdict::keep;
}

Session::Verdict Session::receive_late(const protocol::Message& reply) {
  if (late_.erase(reply.msgid) == 1) return Verdict::keep;
  Outcome outcome = read_error(reply);
  // A frame that the daemon could not read at all is answered with msgid 0.
  const std::string what =
      reply.msgid == 0 && !outcome.ok()
          ? "the daemon cannot read what this library sends: " + outcome.text
          : "a reply to a request that was not sent, number " + std::to_string(reply.msgid);
  return in_trouble(Verdict::broken, {SEQD_E_PROTOCOL, what});
}

Session::Verdict Session::receive_hello(const protocol::Message& reply) {
  Outcome outcome = read_error(reply);
  if (!outcome.ok()) {
    const Verdict verdict = is_transient(outcome.code) ? Verdict::reconnect : Verdict::broken;
    return in_trouble(verdict, std::move(outcome));
  }
  HelloAnswer answer;
  outcome = read_hello(reply, answer);
  if (!outcome.ok()) return in_trouble(Verdict::broken, std::move(outcome));
  daemon_ = std::move(answer);
  const auto limit = daemon_.limits.find("unacknowledged");
  acknowledgement_.ready(limit == daemon_.limits.end() ? Acknowledgement::kAssumedWindow
                                                       : std::max<std::int64_t>(limit->second, 1));
  ready_ = true;
  return Verdict::keep;
}

}  // namespace seqd::engine
