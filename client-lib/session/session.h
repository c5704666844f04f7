// Session: the protocol of one handle without its socket: bytes in, bytes out. It numbers requests,
// says hello, acknowledges, repeats what has no answer on the next connection, and checks every
// answer. Owned by a Client; one thread; time comes in as an argument.
//
// Invariant: an identity's request numbers rise and are never used for another request; a request
// is sent only after this connection's hello was answered, so never without its identity.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>

#include "client-lib/session/acknowledgement.h"
#include "client-lib/session/answer_queue.h"
#include "client-lib/session/next_writer.h"
#include "client-lib/session/reply_reader.h"
#include "client-lib/session/request_table.h"
#include "client-lib/session/session_settings.h"
#include "client-lib/session/synchronous_answer.h"
#include "protocol/buffer.h"
#include "protocol/frame_scanner.h"

namespace seqd::engine {

class Session {
 public:
  // Requests that are in flight or whose answers were not collected, at most.
  static constexpr std::size_t kCapacity = 65'536;
  // The hello's msgid: never a request number.
  static constexpr std::uint32_t kHelloNumber = 0xffff'ffff;
  // From here on a new identity is taken when nothing is in flight; from the last one on nothing is
  // accepted before that.
  static constexpr std::uint32_t kRenewFrom = 0xfff0'0000;
  static constexpr std::uint32_t kLastNumber = 0xffff'fff0;

  // What the caller of receive() has to do with the connection.
  enum class Verdict : std::uint8_t {
    keep,
    reconnect,  // the daemon requested it; see trouble()
    broken,     // it violates the protocol; see trouble()
  };

  explicit Session(const SessionSettings& settings);

  // Requests. Their number, which is their msgid; 0: there are too many.
  std::uint32_t submit(Request&& request);
  std::uint32_t submit_next(std::string_view name, const NextRequest& next);
  // The same in fewer steps, where the table keeps that name. 0: submit_next() may still do it.
  std::uint32_t submit_kept(const char* name, const NextRequest& next) {
    if (!table_.keeps(name) || table_.next_number() >= kRenewFrom || is_full()) return 0;
    return entered(table_.add_kept(next), next.synchronous);
  }
  std::size_t in_flight() const { return table_.size(); }
  bool any_unsent() const { return table_.any_unsent(); }
  std::size_t pending() const;  // submitted and not collected, without synchronous ones
  // No call waits for it any more. Only if the socket is closed; disconnected() follows.
  void abandon_synchronous();
  bool synchronous_may_have_inserted() const;  // it is an insert that may have been carried out

  // The connection.
  void connected();
  // If it was ready, no request fails because of a missing connection until then.
  void disconnected(std::int64_t reconnect_until_ms);
  bool ready() const { return ready_; }  // hello was answered
  // Puts into output() what can be sent now: requests, and acknowledgements of what has arrived.
  void fill_output(std::int64_t now_ms);
  void acknowledge_all();  // puts that of all that has arrived into output(), as before closing
  // Whether fill_output() may have an acknowledgement to write though no request is to be sent.
  bool owes_acknowledgement() const {
    return settings_.hello.client && acknowledgement_.is_owed(table_.first_unanswered());
  }
  protocol::Buffer& output() { return output_; }
  [[nodiscard]] Verdict receive(std::string_view bytes);
  const Outcome& trouble() const { return trouble_; }
  bool proved() const { return proved_; }  // this connection has answered a request

  // Answers what is over its deadline: with SEQD_E_TIMEOUT, or with `unreachable` if this
  // connection is not ready; an insert that may have been carried out, with SEQD_E_OUTCOME_UNKNOWN.
  void expire(std::int64_t now_ms, const Outcome& unreachable);
  std::optional<std::int64_t> next_deadline_ms() const;  // of expire(); none: none is in flight
  // So many answers are late and still to come that the connection is of no use.
  bool too_many_late() const { return late_.size() >= kCapacity; }
  void fail_all(const Outcome& outcome);

  AnswerQueue& answers() { return answers_; }  // for seqd_poll
  const AnswerQueue& answers() const { return answers_; }
  SynchronousAnswer& synchronous() { return synchronous_; }

  // The request numbers are nearly used up: renew() has to follow, while not connected.
  bool wants_identity() const { return table_.empty() && table_.next_number() >= kRenewFrom; }
  void renew(std::optional<protocol::Identity> identity);

  const HelloAnswer& daemon() const { return daemon_; }  // the reply to the last hello

 private:
  // What was sent is repeated, but for inserts, which are answered.
  void reset_connection();
  // Of an insert that may have been carried out: says so.
  void note_perhaps_inserted(std::uint32_t number, Outcome& outcome) const;
  // The connection ends: an insert that was sent is never sent again.
  void give_up_inserts();
  // When a request is given up, as it is connected now.
  std::int64_t deadline_ms(const Request& request) const;
  // Takes whole messages from the front of `left`.
  Verdict take_in(std::span<const std::uint8_t>& left);
  // Takes answers to `next` that follow each other from the front of `left`; whether there was one.
  bool receive_ids(std::span<const std::uint8_t>& left);
  Verdict receive_frame(std::span<const std::uint8_t> frame);
  Verdict receive_hello(const protocol::Message& reply);
  Verdict receive_late(const protocol::Message& reply);
  Verdict after_answer() const;
  Verdict in_trouble(Verdict verdict, Outcome outcome);  // keeps why
  Answer& place_for(const Request& request);
  void finish(std::uint32_t number, Answer&& answer);
  bool is_full() const {
    return table_.size() + answers_.count() >= kCapacity || table_.next_number() >= kLastNumber;
  }
  std::uint32_t entered(std::uint32_t number, bool synchronous) {
    if (synchronous) synchronous_.expect(number);
    return number;
  }
  void write_run(std::uint32_t number, std::int64_t now_ms);  // and those like it that follow
  Outcome write_request(std::uint32_t number, const Request& request, std::int64_t now_ms);

  SessionSettings settings_;
  NextWriter kept_writer_;  // of the name that the table keeps
  NextWriter next_writer_;  // of others
  RequestTable table_;
  AnswerQueue answers_;
  SynchronousAnswer synchronous_;
  Acknowledgement acknowledgement_;
  HelloAnswer daemon_;
  std::int64_t reconnect_until_ms_ = 0;

  // Of this connection.
  protocol::Buffer input_;
  protocol::Buffer output_;
  protocol::FrameScanner scanner_;
  std::unordered_set<std::uint32_t> late_;  // sent here, given up, answer still to come
  bool connected_ = false;                  // connected() came, disconnected() did not
  bool ready_ = false;
  bool proved_ = false;
  bool stopping_ = false;  // the daemon said STOPPING: send nothing more here
  Outcome trouble_;
};

}  // namespace seqd::engine
