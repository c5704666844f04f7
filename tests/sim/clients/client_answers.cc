// Of Client: what it is answered, and what an answer must be.
#include <algorithm>
#include <utility>

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
      error_left(number, connection, *error);
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

Answer Client::read_answer(const Request& request, const protocol::Message& reply) const {
  protocol::ValueReader result = reply.result;
  Answer answer;
  if (request.batch) {
    for (std::uint32_t left = result.read_array().value_or(0); left > 0; --left) {
      const std::optional<protocol::Run> run = protocol::read_run(result);
      if (!run) violation("a range that is none");
      answer.runs.push_back(*run);
    }
  } else if (request.text) {
    answer.text = result.read_text().value_or("");
    const std::string name = Site::kSequenceNames[request.sequence];
    const auto parsed = read_text(site_.home(request.sequence), name, answer.text);
    if (!parsed) violation("a text that is none: " + answer.text);
    answer.runs.push_back({parsed->number, 1, 1});
  } else {
    answer.runs.push_back({result.read_integer().value_or(0), 1, 1});
  }
  std::int64_t count = 0;
  for (const protocol::Run& run : answer.runs) count += run.count;
  if (request.at_most ? count < 1 || count > request.count : count != request.count)
    violation("another number of IDs than was asked for");
  if (count < request.count) stage_.count(Kind::at_most);
  return answer;
}

std::string Client::sequence_of(const Request& request, const std::string& text) const {
  const std::string name = Site::kSequenceNames[request.sequence];
  if (request.sequence != Site::kWithPeriods) return name;
  const IdDate date = read_text(site_.home(request.sequence), name, text)->date;
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

// The reply may have been made before the last load, where the request was sent before it.
std::size_t Client::meaning_of_answer(const Request& request) const {
  return request.sent_ms > site_.loaded_ms() ? site_.meaning(request.sequence) : kUnknownMeaning;
}

void Client::ids_left(std::uint32_t number, const Request& request,
                      const protocol::Message& reply) {
  Answer answer = read_answer(request, reply);
  stage_.count(Kind::answered_id);
  stage_.history.note("answered", site_.number(), answer.runs.front().first, number);
  const std::size_t meaning = meaning_of_answer(request);
  const auto promise = promised_.find(number);
  const bool promised = promise != promised_.end();
  const bool same = promised && promise->second.answer == answer;
  if (promised && promise->second.binding && !same)
    violation("request " + std::to_string(number) + " is answered with other IDs than before");
  if (same) {
    stage_.count(Kind::repeated);
    if (request.text) stage_.count(Kind::repeated_text);
    const bool both_known =
        promise->second.meaning != kUnknownMeaning && meaning != kUnknownMeaning;
    if (both_known && promise->second.meaning != meaning) stage_.count(Kind::repeated_otherwise);
    return;
  }
  first_answer(request, answer);
  if (identity_) promised_[number] = {std::move(answer), request, meaning, true};
}

void Client::first_answer(const Request& request, const Answer& answer) {
  const SequenceSettings& home = site_.home(request.sequence);
  const std::string sequence = sequence_of(request, answer.text);
  check_period(request, sequence);
  const std::optional<Ordinals> ordinals = ordinals_of(home, answer);
  if (!ordinals) violation(std::to_string(answer.runs.front().first) + " is no ID of " + sequence);
  for (const auto& [begin, end] : *ordinals) stage_.accounts.answered(sequence, begin, end);
  if (request.text && !begins_again(home)) stage_.accounts.written(sequence, answer.text);
}

void Client::check_error(std::uint32_t number, const Request& request,
                         const protocol::ReplyError& error) const {
  const ErrorCode code = error.code;
  const std::string what = "request " + std::to_string(number) + " is refused with " +
                           std::string(error_name(code)) + " (" + std::string(error.text) + ")";
  if (code == ErrorCode::BAD_REQUEST || code == ErrorCode::INTERNAL || code == ErrorCode::NO_METHOD)
    violation(what);
  // What was sent before may have been refused before.
  const bool sent_behind = request.sent_ms > site_.loaded_ms();
  if (code == ErrorCode::NO_SEQUENCE && sent_behind && site_.serves_configured(request.sequence))
    violation(what + ", and its table is loaded");
  const bool of_the_format = code == ErrorCode::SEQ_CHANGED || code == ErrorCode::CONFIG;
  if (of_the_format && identity_ && request.sends == 1 &&
      site_.mirror().has_issued(*identity_, number))
    violation(what + ", and an ID was issued for it");
  constexpr std::int64_t kOnTheWayMs = 100;
  if (code == ErrorCode::SEQ_TYPE) {
    const std::int64_t advanced_ms = site_.advanced_ms(request.sequence);
    if (site_.was_of_wrong_type(request.sequence) + kOnTheWayMs < advanced_ms &&
        advanced_ms + kOnTheWayMs < request.sent_ms)
      violation(what + ", though it was repaired and advanced");
  }
  const bool removed = code == ErrorCode::SEQ_REGRESSED &&
                       error.text.find("sequence.period_retention") != std::string_view::npos;
  if (removed && stage_.profile.clocks_run())
    violation(what + " for its period, though nobody sets a clock");
}

// An ID comes within moments where the store and the disk answer.
void Client::check_waited(const Connection& connection, const Request& request,
                          const std::string& what) const {
  constexpr std::int64_t kMomentsMs = 1'500;
  if (!stage_.profile.quiet || site_.stands_still() || !connection.reads) return;
  const std::int64_t since_ms =
      std::max({request.sent_ms, connection.blocked_ms, site_.excused_until_ms()});
  if (stage_.time.monotonic_ms() - since_ms > kMomentsMs)
    violation(what + ", and nothing was in its way");
}

void Client::error_left(std::uint32_t number, const Connection& connection,
                        const protocol::ReplyError& error) {
  const ErrorCode code = error.code;
  const Request& request = requests_.at(number);
  check_error(number, request, error);
  if (code == ErrorCode::UNAVAILABLE)
    check_waited(
        connection, request,
        "request " + std::to_string(number) + " waited in vain: " + std::string(error.text));
  stage_.count(Kind::answered_error);
  if (code == ErrorCode::BUSY) stage_.count(Kind::answered_busy);
  if (code == ErrorCode::UNAVAILABLE) stage_.count(Kind::answered_late);
  const bool old = error.text.find("sequence.period_retention") != std::string_view::npos;
  if (code == ErrorCode::SEQ_REGRESSED && old) stage_.count(Kind::removed_refused);
  if (code == ErrorCode::NO_SEQUENCE) stage_.count(Kind::not_configured);
  if (code == ErrorCode::SEQ_CHANGED && request.text) stage_.count(Kind::text_refused);
  const auto promise = promised_.find(number);
  if (promise == promised_.end() || !promise->second.binding) return;
  // One of an earlier connection was made before the request was repeated, and left later.
  if (request.sent_on != connection.number) return;
  // Where the configuration is another one it may not be known any more what was answered.
  const std::size_t meaning = promise->second.meaning;
  if (meaning != kUnknownMeaning && meaning == meaning_of_answer(request)) {
    violation("request " + std::to_string(number) + " had IDs, and its repeat has an error: " +
              std::string(error_name(code)) + ", " + std::string(error.text));
  }
  stage_.count(Kind::repeat_refused);
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
  const std::int64_t allowed_ms =
      oldest.timeout_ms.value_or(SiteSettings::kWaitTimeoutMs) + kPatienceMs;
  if (stage_.time.monotonic_ms() - since_ms > allowed_ms) {
    violation("request " + std::to_string(requests_.begin()->first) + " is not answered");
  }
}

}  // namespace seqd::sim
