// Client: a simulated client: it pipelines requests, gives up, reads slowly, sends nonsense, goes
// away and comes back. One with an identity repeats what was not answered, over daemons' ends, and
// must get the same IDs. Every request is answered exactly once, or its connection is lost. Belongs
// to the simulation; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/requests.h"
#include "tests/sim/clients/answer.h"
#include "tests/sim/clients/block_holder.h"
#include "tests/sim/clients/connection.h"
#include "tests/sim/site.h"

namespace seqd::sim {

class Client final : public ConnectionUser {
 public:
  Client(Stage& stage, Site& site, std::int64_t number, bool identified);

  // Does one thing, and comes back after a while.
  void act();
  bool waits() const { return !requests_.empty(); }
  const std::optional<protocol::Identity>& identity() const { return identity_; }
  const Site& site() const { return site_; }

  void reply_left(Connection& connection, const protocol::Message& reply) override;
  void connection_ended(Connection& connection) override;

 private:
  static constexpr std::size_t kPipeline = 40;
  // Numbers of requests that ask for no IDs.
  static constexpr std::uint32_t kHello = 0xfffffff0;
  static constexpr std::uint32_t kPage = 0xfffffff1;
  static constexpr std::uint32_t kOther = 0x80000000;      // and above: anybody may ask that
  static constexpr std::uint32_t kForbidden = 0xc0000000;  // and above: administrators only

  struct Request {
    std::size_t sequence = 0;
    std::int64_t count = 1;
    bool batch = false;
    bool at_most = false;    // a batch: of up to `count` IDs
    bool text = false;       // the ID is answered as text, with the second of its issue
    bool is_block = false;   // of up to `count` IDs
    std::uint32_t slot = 0;  // of a block
    std::optional<std::int64_t> timeout_ms;
    std::int64_t sent_ms = 0;
    std::int64_t asked_ms = 0;  // when it was sent first
    std::string asked_in;       // the period that the clock showed then, of one with periods
    std::int64_t sends = 0;
    std::uint64_t sent_on = 0;      // the connection on which it was sent last
    std::uint64_t answered_on = 0;  // the connection on which an answer has left
  };
  static constexpr std::size_t kUnknownMeaning = 0;
  struct Promise {
    Answer answer;
    Request request;
    std::size_t meaning = kUnknownMeaning;  // how the daemon answers, as it was then
    bool binding = true;  // false: the daemon has lost its memory, and may give others
  };

  void connect();
  void do_something();
  void ask(std::int64_t requests);
  void ask_once();
  void ask_block();
  void ask_page();
  void repeat();
  void repeat_answered();
  void append_block(protocol::Buffer& out, std::uint32_t number, const Request& request) const;
  void append_range_at_most(protocol::Buffer& out, std::uint32_t number,
                            const Request& request) const;
  std::int64_t pause_ms() const;
  void send_request(std::uint32_t number, Request& request);
  void send(const protocol::Buffer& bytes);
  void deliver(const std::shared_ptr<Connection>& connection);
  void send_hello();
  void acknowledge();
  void leave();
  void go_on_without_reading();
  void be_malformed();
  void ask_for_what_is_forbidden();
  void new_identity();
  void hello_left(const protocol::Message& reply);
  // Which sequence that was, of one with periods by the second that its text tells.
  std::string sequence_of(const Request& request, const std::string& text) const;
  void check_period(const Request& request, const std::string& sequence) const;
  Answer read_answer(const Request& request, const protocol::Message& reply) const;
  void first_answer(const Request& request, const Answer& answer);
  std::size_t meaning_of_answer(const Request& request) const;
  void ids_left(std::uint32_t number, const Request& request, const protocol::Message& reply);
  void check_waited(const Connection& connection, const Request& request,
                    const std::string& what) const;
  void check_error(std::uint32_t number, const Request& request,
                   const protocol::ReplyError& error) const;
  void error_left(std::uint32_t number, const Connection& connection,
                  const protocol::ReplyError& error);
  void block_left(std::uint32_t number, const Request& request, const Connection& connection,
                  const protocol::Message& reply);
  void page_left(const Connection& connection, bool good);
  void arrived(std::uint64_t connection, std::uint32_t number, bool good);
  void lost();
  void check_patience();
  [[noreturn]] void violation(const std::string& what) const;

  Stage& stage_;
  Site& site_;
  const std::int64_t number_;
  std::optional<protocol::Identity> identity_;
  std::int64_t generation_ = 0;  // grows with every new identity
  std::shared_ptr<Connection> connection_;
  bool greeted_ = false;  // the hello of this connection is answered, or not needed
  std::uint32_t next_ = 1;
  std::map<std::uint32_t, Request> requests_;  // without an answer, as far as the client knows
  std::map<std::uint32_t, Promise> promised_;  // what has left a daemon for it; until acknowledged
  std::int64_t memory_losses_ = -1;            // of the site, at the last hello; -1: never
  BlockHolder blocks_;
};

}  // namespace seqd::sim
