#include "tests/sim/clients/client.h"

#include <algorithm>
#include <utility>

#include "protocol/values/value_writer.h"

namespace seqd::sim {
Client::Client(Stage& stage, Site& site, std::int64_t number, bool identified)
    : stage_(stage), site_(site), number_(number), blocks_(stage, site) {
  if (identified) new_identity();
}

void Client::violation(const std::string& what) const {
  stage_.history.violation("client " + std::to_string(number_) + " of daemon " +
                           std::to_string(site_.number()) + ": " + what);
}

void Client::act() {
  if (site_.retired()) {
    if (connection_) leave();
    requests_.clear();
    return;
  }
  // Whether its daemon is there or not.
  if (stage_.profile.blocks && identity_ && stage_.random.below(2) == 0) blocks_.take();
  if (!connection_) {
    connect();
  } else if (greeted_) {
    check_patience();
    if (!stage_.calm) do_something();
  }
  stage_.after(pause_ms(), [this] { act(); });
}

// Where periods end some doze, and acknowledge nothing, until nobody else asks for theirs any more.
std::int64_t Client::pause_ms() const {
  SeededRandom& random = stage_.random;
  const bool dozes = site_.period_rule() != nullptr && !stage_.calm && random.below(300) == 0;
  return dozes ? random.between(60'000, 150'000) : random.between(1, 2 * stage_.profile.pause_ms);
}

void Client::do_something() {
  const std::int64_t what = stage_.random.below(400);
  if (what < 2) return leave();
  if (what < 3) return be_malformed();
  if (what < 5) return go_on_without_reading();
  if (what < 6 && identity_) {
    // The next hello takes over; this connection is left as it is.
    if (waits()) stage_.happened(Kind::taken_over, number_);
    connection_->orphaned = true;
    connection_.reset();
    return connect();
  }
  if (what < 8 && identity_ && requests_.empty()) return new_identity();
  if (what < 10) return ask_for_what_is_forbidden();
  if (what < 80 && identity_) acknowledge();
  if (what >= 320 && what < 340 && identity_) return repeat_answered();
  if (what >= 340 && identity_ && stage_.profile.blocks) return ask_block();
  if (what < 60) {
    static constexpr const char* methods[] = {"ping", "list", "status"};
    protocol::Buffer out;
    const auto number = kOther + static_cast<std::uint32_t>(stage_.random.below(1'000));
    protocol::append_call(out, number, methods[stage_.random.below(3)]);
    ++connection_->others;
    return send(out);
  }
  const std::size_t room = kPipeline - std::min(kPipeline, requests_.size());
  const std::int64_t burst = stage_.random.below(20) == 0 ? 40 : 6;
  ask(std::min(stage_.random.between(1, burst), static_cast<std::int64_t>(room)));
}

// --- asking
// --------------------------------------------------------------------------------------

void Client::connect() {
  auto connection = std::make_shared<Connection>(*this, stage_.history.events());
  if (!site_.accept(connection)) return;
  connection_ = std::move(connection);
  connection_->blocked_ms = stage_.time.monotonic_ms();
  connection_->generation = generation_;
  greeted_ = !identity_;
  if (identity_) send_hello();
}

void Client::send_hello() {
  protocol::Buffer out;
  protocol::append_hello(out, kHello, {identity_, {}});
  send(out);
}

void Client::ask(std::int64_t requests) {
  // Most mind how much may go unacknowledged.
  const std::uint32_t floor = requests_.empty() ? next_ : requests_.begin()->first;
  if (identity_ && next_ - floor + 40 > Process::kUnacknowledged && stage_.random.below(50) > 0) {
    return;
  }
  for (; requests > 0; --requests) ask_once();
  if (identity_ && !promised_.empty() && next_ - promised_.begin()->first > 30) acknowledge();
}

void Client::ask_once() {
  SeededRandom& random = stage_.random;
  Request request;
  const bool periods = site_.period_rule() != nullptr;
  request.sequence = static_cast<std::size_t>(random.below(Site::kSequences + (periods ? 1 : 0)));
  if (stage_.profile.quiet && random.below(2) == 0) request.sequence = 1;
  if (request.sequence == Site::kWithPeriods) {
    // Nothing else tells in which period it was counted.
    request.text = true;
    request.asked_in = site_.present_period();
  } else if (random.below(6) == 0) {
    request.batch = true;
    request.count = random.between(1, random.below(10) == 0 ? 300 : 20);
    request.at_most = random.below(3) == 0;
  } else {
    const bool textless = request.sequence == 0 && stage_.profile.textless;
    request.text = !textless && random.below(4) < (stage_.profile.quiet ? 3 : 1);
  }
  switch (random.below(8)) {
    case 0:
      request.timeout_ms = 0;
      break;
    case 1:
      request.timeout_ms = random.between(1, 100);
      break;
    case 2:
      request.timeout_ms = random.between(1'000, 20'000);
      break;
    default:
      break;
  }
  request.asked_ms = stage_.time.monotonic_ms();
  const std::uint32_t number = next_++;
  send_request(number, requests_[number] = request);
}

// What a client does that keeps its requests for longer than their answers.
void Client::repeat_answered() {
  if (promised_.empty()) return;
  const std::int64_t which = stage_.random.below(static_cast<std::int64_t>(promised_.size()));
  const auto& [number, promise] = *std::next(promised_.begin(), which);
  if (!promise.binding || requests_.contains(number)) return;
  stage_.count(Kind::repeated_late);
  Request& request = requests_[number] = promise.request;
  request.answered_on = 0;
  send_request(number, request);
}

void Client::send_request(std::uint32_t number, Request& request) {
  request.sent_ms = stage_.time.monotonic_ms();
  ++request.sends;
  request.sent_on = connection_->number;
  protocol::Buffer out;
  const char* name = Site::kSequenceNames[request.sequence];
  if (request.is_block) {
    append_block(out, number, request);
  } else if (request.batch && request.at_most) {
    append_range_at_most(out, number, request);
  } else if (request.batch) {
    protocol::append_range(out, number, name, request.count, request.timeout_ms);
  } else if (request.text) {
    protocol::append_next_text(out, number, name, request.timeout_ms);
  } else {
    protocol::append_next(out, number, name, request.timeout_ms);
  }
  send(out);
}

void Client::append_range_at_most(protocol::Buffer& out, std::uint32_t number,
                                  const Request& request) const {
  protocol::append_array(out, 4);
  protocol::append_integer(out, 0);
  protocol::append_integer(out, number);
  protocol::append_text(out, "range");
  protocol::append_array(out, 3);
  protocol::append_text(out, Site::kSequenceNames[request.sequence]);
  protocol::append_integer(out, request.count);
  protocol::append_map(out, 1);
  protocol::append_text(out, "at_most");
  protocol::append_bool(out, true);
}

void Client::send(const protocol::Buffer& bytes) {
  const bool on_the_way = !connection_->sent.empty();
  connection_->sent.append(bytes.data(), bytes.size());
  if (!on_the_way) deliver(connection_);
}

// A part of it arrives, and the rest later.
void Client::deliver(const std::shared_ptr<Connection>& connection) {
  stage_.after(stage_.random.between(0, 2), [this, connection] {
    if (connection->session == nullptr || connection->sent.empty()) return;
    const auto size = static_cast<std::int64_t>(connection->sent.size());
    const std::int64_t part = stage_.random.below(8) == 0 ? stage_.random.between(1, size) : size;
    connection->arrived.append(connection->sent, 0, static_cast<std::size_t>(part));
    connection->sent.erase(0, static_cast<std::size_t>(part));
    site_.receive(connection);
    if (!connection->sent.empty()) deliver(connection);
  });
}

void Client::acknowledge() {
  const std::uint32_t below = requests_.empty() ? next_ : requests_.begin()->first;
  promised_.erase(promised_.begin(), promised_.lower_bound(below));
  protocol::Buffer out;
  protocol::append_ack(out, below);
  send(out);
}

void Client::be_malformed() {
  protocol::Buffer out;
  out.append(stage_.random.below(2) == 0 ? std::string("\xdd\xff\xff\xff\xff", 5)
                                         : std::string("\x93\x01\x02", 3) + "\xc0");
  stage_.happened(Kind::malformed, number_);
  connection_->spoiled = true;
  send(out);
}

// It is the user 1000, and neither the daemon's nor an administrator.
void Client::ask_for_what_is_forbidden() {
  static constexpr const char* methods[] = {"advance", "advance_store", "drain",
                                            "reload",  "purge",         "decommission"};
  protocol::Buffer out;
  const auto number = kForbidden + static_cast<std::uint32_t>(stage_.random.below(1'000));
  protocol::append_call(out, number, methods[stage_.random.below(6)]);
  ++connection_->others;
  stage_.happened(Kind::forbidden, number_);
  send(out);
}

void Client::go_on_without_reading() {
  stage_.happened(Kind::slow_reader, number_);
  connection_->reads = false;
  stage_.after(stage_.random.between(50, 3'000), [this, connection = connection_] {
    connection->reads = true;
    connection->blocked_ms = stage_.time.monotonic_ms();
    site_.receive(connection);
  });
}

void Client::leave() {
  if (waits()) stage_.happened(Kind::disconnected, number_);
  connection_->orphaned = true;
  site_.hang_up(connection_);
  lost();
}

void Client::new_identity() {
  protocol::Identity identity{};
  const std::uint64_t random = stage_.random.next();
  for (std::size_t at = 0; at < 8; ++at) identity[at] = static_cast<std::uint8_t>(random >> at * 8);
  if (connection_) leave();
  identity_ = identity;
  ++generation_;
  next_ = 1;
  promised_.clear();
  blocks_.clear();
  memory_losses_ = -1;
}

}  // namespace seqd::sim
