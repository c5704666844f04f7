// Of Client: what it is answered, and what an answer must be.
#include <algorithm>
#include <utility>

#include "daemon/core/text/id_text.h"
#include "tests/sim/clients/client.h"

namespace seqd::sim {
namespace {

// A request is answered this long after its deadline, at the latest.
constexpr std::int64_t kPatienceMs = 2'000;

}  // namespace

void Client::reply_left(Connection& connection, const protocol::Message& reply) {
  const auto error = protocol::read_reply_error(reply.error);
  const std::uint32_t number = reply.msgid;
  if (connection.generation != generation_) return;
  if (connection.spoiled && error && !requests_.contains(number)) return;
  if (number == kPage) return page_left(connection, !error);
  if (number == kHello) {
    if (!connection.orphaned && !error) hello_left(reply);
  } else if (number >= kEndBlock && number < kForbidden) {
    return end_left(connection, number, error);
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
    if (request.is_block) {
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

void Client::arrived(std::uint64_t connection, std::uint32_t number, bool good) {
  if (!connection_ || connection_->number != connection) return;
  if (number != kHello) {
    requests_.erase(number);
    return;
  }
  if (!good) return leave();
  greeted_ = true;
  repeat();
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
