#include "tests/sim/client.h"

#include <algorithm>
#include <utility>

#include "daemon/core/text/id_text.h"
#include "protocol/values/value_writer.h"

namespace seqd::sim {
namespace {

constexpr std::uint32_t kHello = 0xfffffff0;
constexpr std::uint32_t kOther = 0x80000000;
constexpr std::uint32_t kForbidden = 0xc0000000;
constexpr std::size_t kPipeline = 40;
// A request is answered this long after its deadline, at the latest.
constexpr std::int64_t kPatienceMs = 2'000;

}  // namespace

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
  if (request.sequence == Site::kWithPeriods) {
    // Nothing else tells in which period it was counted.
    request.text = true;
    request.asked_in = site_.present_period();
  } else if (random.below(6) == 0) {
    request.batch = true;
    request.count = random.between(1, random.below(10) == 0 ? 300 : 20);
  } else {
    request.text = random.below(4) == 0;
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

void Client::ask_block() {
  const std::uint32_t floor = requests_.empty() ? next_ : requests_.begin()->first;
  if (requests_.size() >= kPipeline || next_ - floor + 40 > Process::kUnacknowledged) return;
  Request request;
  request.sequence = static_cast<std::size_t>(stage_.random.below(Site::kSequences));
  request.count = stage_.random.between(1, 60);
  request.slot = static_cast<std::uint32_t>(stage_.random.below(BlockHolder::kSlots));
  request.timeout_ms = 0;
  request.asked_ms = stage_.time.monotonic_ms();
  // One for each slot at a time: the next one says that nothing is taken of the former any more.
  for (const auto& [number, other] : requests_) {
    if (other.slot == request.slot) return;
  }
  blocks_.leave(*request.slot);
  const std::uint32_t number = next_++;
  send_request(number, requests_[number] = request);
}

void Client::send_request(std::uint32_t number, Request& request) {
  request.sent_ms = stage_.time.monotonic_ms();
  protocol::Buffer out;
  const char* name = Site::kSequenceNames[request.sequence];
  if (request.slot) {
    protocol::append_array(out, 4);
    protocol::append_integer(out, 0);
    protocol::append_integer(out, number);
    protocol::append_text(out, "block");
    protocol::append_array(out, 3);
    protocol::append_text(out, name);
    protocol::append_integer(out, *request.slot);
    protocol::append_integer(out, request.count);
  } else if (request.batch) {
    protocol::append_range(out, number, name, request.count, request.timeout_ms);
  } else if (request.text) {
    protocol::append_next_text(out, number, name, request.timeout_ms);
  } else {
    protocol::append_next(out, number, name, request.timeout_ms);
  }
  send(out);
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

// --- answers
// --------------------------------------------------------------------------------------

void Client::reply_left(Connection& connection, const protocol::Message& reply) {
  const auto error = protocol::read_reply_error(reply.error);
  const std::uint32_t number = reply.msgid;
  if (connection.generation != generation_) return;
  if (connection.spoiled && error && !requests_.contains(number)) return;
  if (number == kHello) {
    if (!connection.orphaned && !error) hello_left(reply);
  } else if (number >= kOther) {
    const bool denied = error && error->code == ErrorCode::DENIED;
    if (number >= kForbidden && !denied) violation("a method for administrators is not denied");
    if (number < kForbidden && error) violation("ping, list or status fails");
    if (--connection.others < 0) violation("an answer to nothing");
    return;
  } else {
    const auto found = requests_.find(number);
    if (found == requests_.end()) {
      // The request of a connection that was given up: nobody waits, or the newer one was answered.
      if (connection.orphaned) return;
      violation("an answer to request " + std::to_string(number) + ", which does not wait for one");
    }
    Request& request = found->second;
    if (request.answered_on == connection.number) {
      violation("a second answer to request " + std::to_string(number));
    }
    // What an older connection was refused before a newer one, which is answered, had taken over.
    const bool outdated = error && request.answered_on > connection.number;
    if (outdated) return;
    request.answered_on = connection.number;
    if (request.slot) {
      if (!error) return block_left(number, request, connection, reply);
      if (error->code == ErrorCode::BAD_REQUEST || error->code == ErrorCode::INTERNAL)
        violation("a block is refused with " + std::string(error_name(error->code)));
    } else if (error) {
      error_left(number, *error);
    } else {
      ids_left(number, request, reply);
    }
  }
  if (connection.orphaned) return;
  stage_.after(stage_.random.between(0, 4),
               [this, serial = connection.number, number, good = !error.has_value()] {
                 arrived(serial, number, good);
               });
}

void Client::hello_left(const protocol::Message& reply) {
  protocol::ValueReader result = reply.result;
  const std::uint32_t pairs = result.read_map().value_or(0);
  std::optional<bool> known;
  for (std::uint32_t at = 0; at < pairs && !known; ++at) {
    if (result.read_text() == "known") {
      known = result.read_bool();
    } else {
      static_cast<void>(result.skip());
    }
  }
  if (!known) violation("hello does not say whether the client is known");
  const bool remembers = memory_losses_ == site_.mirror().memory_losses() &&
                         !site_.mirror().forgotten().contains(*identity_);
  if (!*known && memory_losses_ >= 0) stage_.happened(Kind::forgotten, number_);
  if (!*known && remembers) violation("the daemon has forgotten it");
  for (auto& [number, promise] : promised_) promise.binding = promise.binding && remembers;
  site_.mirror().forgotten().erase(*identity_);
  memory_losses_ = site_.mirror().memory_losses();
}

std::vector<protocol::Run> Client::read_ids(const Request& request, const protocol::Message& reply,
                                            std::string& text) const {
  protocol::ValueReader result = reply.result;
  std::vector<protocol::Run> runs;
  if (request.batch) {
    for (std::uint32_t left = result.read_array().value_or(0); left > 0; --left) {
      const std::optional<protocol::Run> run = protocol::read_run(result);
      if (!run || run->step != 1) violation("a range that is none");
      runs.push_back(*run);
    }
  } else if (request.text) {
    text = result.read_text().value_or("");
    const auto parsed = read_id(read_template(Site::kTextForm).value(), text, nullptr);
    if (!parsed.ok()) violation("a text that is none: " + text);
    runs.push_back({parsed->number, 1, 1});
  } else {
    runs.push_back({result.read_integer().value_or(0), 1, 1});
  }
  return runs;
}

std::string Client::sequence_of(const Request& request, const std::string& text) const {
  const std::string name = Site::kSequenceNames[request.sequence];
  if (request.sequence != Site::kWithPeriods) return name;
  const IdDate date = read_id(read_template(Site::kTextForm).value(), text, nullptr)->date;
  const auto part = [&](DatePart one) { return date.get(one).value(); };
  const std::int64_t day_s =
      first_second(part(DatePart::year), part(DatePart::month), part(DatePart::day));
  const std::int64_t wall_s = day_s + part(DatePart::hour) * 3'600LL +
                              part(DatePart::minute) * 60LL + part(DatePart::second);
  return period_sequence(name, site_.period_rule()->at(wall_s).name);
}

// It may have waited while the period ended.
void Client::check_period(const Request& request, const std::string& sequence) const {
  if (request.asked_in.empty() || site_.machine().clock_set_ms() >= request.asked_ms) return;
  if (sequence < request.asked_in || sequence > site_.present_period())
    violation("asked for in " + request.asked_in + ", and counted in " + sequence);
}

void Client::ids_left(std::uint32_t number, const Request& request,
                      const protocol::Message& reply) {
  std::string text;
  std::vector<protocol::Run> runs = read_ids(request, reply, text);
  std::int64_t count = 0;
  for (const protocol::Run& run : runs) count += run.count;
  if (count != request.count) violation("another number of IDs than was asked for");
  stage_.count(Kind::answered_id);
  stage_.history.note("answered", site_.number(), runs.front().first, number);
  const auto promise = promised_.find(number);
  if (promise != promised_.end() && (promise->second.binding || promise->second.runs == runs)) {
    if (promise->second.runs != runs || promise->second.text != text) {
      violation("request " + std::to_string(number) + " is answered with other IDs than before");
    }
    stage_.count(Kind::repeated);
    if (request.text) stage_.count(Kind::repeated_text);
    return;
  }
  for (const protocol::Run& run : runs) {
    const std::string sequence = sequence_of(request, text);
    check_period(request, sequence);
    stage_.accounts.answered(sequence, run.first, run.first + run.count);
  }
  if (identity_) promised_[number] = {std::move(runs), std::move(text), true};
}

void Client::error_left(std::uint32_t number, const protocol::ReplyError& error) {
  const ErrorCode code = error.code;
  stage_.count(Kind::answered_error);
  if (code == ErrorCode::BUSY) stage_.count(Kind::answered_busy);
  if (code == ErrorCode::UNAVAILABLE) stage_.count(Kind::answered_late);
  const bool old = error.text.find("sequence.period_retention") != std::string_view::npos;
  if (code == ErrorCode::SEQ_REGRESSED && old) stage_.count(Kind::removed_refused);
  if (code == ErrorCode::BAD_REQUEST || code == ErrorCode::INTERNAL ||
      code == ErrorCode::NO_METHOD) {
    violation("request " + std::to_string(number) + " is refused with " +
              std::string(error_name(code)));
  }
  const auto promise = promised_.find(number);
  if (promise != promised_.end() && promise->second.binding) {
    violation("request " + std::to_string(number) +
              " had IDs, and its repeat has an error: " + std::string(error_name(code)));
  }
}

// What was granted holds when the reply arrives on the connection that was asked last.
void Client::block_left(std::uint32_t number, const Request& request, const Connection& connection,
                        const protocol::Message& reply) {
  protocol::ValueReader result = reply.result;
  const bool three = result.read_array() == 3U;
  const std::optional<std::int64_t> first = three ? result.read_integer() : std::nullopt;
  const std::optional<std::int64_t> step = result.read_integer();
  const std::optional<std::int64_t> count = result.read_integer();
  if (!first || step != 1 || !count || *count < 1 || *count > request.count)
    violation("a block that is none");
  if (connection.orphaned || connection.session == nullptr) return;
  stage_.after(
      stage_.random.between(0, 4),
      [this, serial = connection.number, number, slot = *request.slot, sequence = request.sequence,
       first = *first, count = *count, client = connection.session->client] {
        if (!connection_ || connection_->number != serial || !requests_.contains(number)) return;
        requests_.erase(number);
        blocks_.granted(slot, number, Site::kSequenceNames[sequence], first, count, client);
      });
}

void Client::arrived(std::uint64_t connection, std::uint32_t number, bool good) {
  if (!connection_ || connection_->number != connection) return;
  if (number != kHello) {
    requests_.erase(number);
    return;
  }
  if (!good) return leave();
  greeted_ = true;
  for (auto& [unanswered, request] : requests_) send_request(unanswered, request);
}

void Client::connection_ended(Connection& connection) {
  // What is on its way can still be read, or the client has gone at the same time.
  if (connection_.get() != &connection) return;
  stage_.after(stage_.random.between(0, 6), [this, serial = connection.number] {
    if (connection_ && connection_->number == serial) lost();
  });
}

void Client::lost() {
  connection_.reset();
  greeted_ = false;
  if (!identity_) requests_.clear();
}

void Client::check_patience() {
  if (requests_.empty() || !connection_->session) return;
  if (!connection_->reads || !connection_->arrived.empty() || site_.stands_still()) {
    connection_->blocked_ms = stage_.time.monotonic_ms();
    return;
  }
  const Request& oldest = requests_.begin()->second;
  const std::int64_t since_ms = std::max(oldest.sent_ms, connection_->blocked_ms);
  const std::int64_t allowed_ms = oldest.timeout_ms.value_or(Site::kWaitTimeoutMs) + kPatienceMs;
  if (stage_.time.monotonic_ms() - since_ms > allowed_ms) {
    violation("request " + std::to_string(requests_.begin()->first) + " is not answered");
  }
}

}  // namespace seqd::sim
