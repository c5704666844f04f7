#include "daemon/core/insert/request_queue.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::int64_t kLongestPauseMs = 64;
// An unknown outcome is looked up within these, however long the callers would wait.
constexpr std::int64_t kLeastPatienceMs = 1'000;
constexpr std::int64_t kMostPatienceMs = 30'000;

}  // namespace

std::string_view RequestQueue::state_name() const {
  if (in_flight()) return "fetching";
  return error_.ok() ? "ready" : "waiting";
}

Status RequestQueue::add(std::unique_ptr<Request> request, UserId user, std::int64_t timeout_ms) {
  if (!ending_.ok()) return ending_;
  const Result<const SequenceSettings*> found = settings();
  if (!found.ok()) return found.status();
  const SequenceSettings& settings = **found;
  places_.set_total(settings.max_waiters);
  if (!places_.allows(user, 1)) {
    return {ErrorCode::BUSY, "\"" + name_ + "\" has " + std::to_string(places_.used_by(user)) +
                                 " " + noun_ + " of this user and " +
                                 std::to_string(places_.used()) +
                                 " in all waiting already, and one user may not have all of the "
                                 "places (max_waiters)"};
  }
  request->place_ = accounts_.add(*this, places_, request->session, user, request->bytes);
  if (request->place_ == nullptr) {
    return {ErrorCode::BUSY, std::string("the ") + noun_ + " that wait, of all sequences, take " +
                                 std::to_string(accounts_.bytes()) + " bytes; " +
                                 std::to_string(InsertAccounts::kMostBytes) +
                                 " are allowed, and one user may not have all of them"};
  }
  request->deadline_ms_ =
      context_.clock.monotonic_ms() + (timeout_ms < 0 ? settings.wait_timeout_ms : timeout_ms);
  put(queue_.end(), std::move(request));
  start();
  arm_deadline();
  return {};
}

void RequestQueue::put(Requests::iterator before, std::unique_ptr<Request> request) {
  const auto at = queue_.insert(before, std::move(request));
  (*at)->by_deadline_ = by_deadline_.emplace((*at)->deadline_ms_, at);
  (*at)->by_session_ = by_session_.emplace((*at)->session, at);
  ASSERT(by_deadline_.size() == queue_.size() && by_session_.size() == queue_.size());
}

std::unique_ptr<RequestQueue::Request> RequestQueue::take(Requests::iterator at) {
  by_deadline_.erase((*at)->by_deadline_);
  by_session_.erase((*at)->by_session_);
  std::unique_ptr<Request> request = std::move(*at);
  queue_.erase(at);
  ASSERT(by_deadline_.size() == queue_.size() && by_session_.size() == queue_.size());
  return request;
}

void RequestQueue::cancel(SessionId session, const Status& why) {
  for (auto at = by_session_.find(session); at != by_session_.end();
       at = by_session_.find(session)) {
    const std::unique_ptr<Request> request = take(at->second);
    if (!why.ok()) request->fail(request->perhaps.ok() ? why : request->perhaps);
  }
  for (const std::unique_ptr<Request>& request : sent_) {
    if (request->session != session) continue;
    if (!why.ok()) {
      request->refused = why;
      continue;
    }
    request->session = 0;
    request->place_->leave_session();
  }
}

void RequestQueue::begin_stop(const Status& why) {
  ending_ = why;
  fail_all(why);
}

void RequestQueue::fail_all(const Status& why) {
  by_deadline_.clear();
  by_session_.clear();
  for (const std::unique_ptr<Request>& request : std::exchange(queue_, {}))
    request->fail(request->perhaps.ok() ? why : request->perhaps);
}

// --- one round

void RequestQueue::start() {
  if (in_flight() || pause_timer_.running() || queue_.empty()) return;
  if (const Status why = settings().status(); !why.ok()) return fail_all(why);
  std::int64_t latest_ms = 0;
  std::size_t bytes = 0;
  while (!queue_.empty() && sent_.size() < kMostRequests) {
    bytes += queue_.front()->bytes;
    if (!sent_.empty() && bytes > kMostBatchBytes) break;
    sent_.push_back(take(queue_.begin()));
    latest_ms = std::max(latest_ms, sent_.back()->deadline_ms_);
  }
  ASSERT(!sent_.empty());
  send(std::clamp(latest_ms - context_.clock.monotonic_ms(), kLeastPatienceMs, kMostPatienceMs));
}

void RequestQueue::end_round(Round& round,
                             const std::function<bool(Request&, std::size_t)>& settle) {
  std::vector<std::unique_ptr<Request>> sent = std::exchange(sent_, {});
  const auto first = queue_.begin();
  for (std::size_t at = 0; at < sent.size(); ++at) {
    Request& request = *sent[at];
    if (!settle(request, at)) continue;
    if (!request.refused.ok()) {
      request.fail(request.perhaps.ok() ? request.refused : request.perhaps);
    } else if (request.tries >= kMostTries) {
      request.fail(too_late(request));
    } else {
      put(first, std::move(sent[at]));
    }
  }
  sent.clear();
  if (!round.failed) {
    error_ = {};
    backoff_.reset();
  }
  if (round.any || !round.contended) pause_limit_ms_ = 1;
  if (!ending_.ok()) return fail_all(ending_);
  if (round.failed) {
    pause(backoff_.next_ms(context_.random));
  } else if (round.contended) {
    ASSERT(pause_limit_ms_ >= 1 && pause_limit_ms_ <= kLongestPauseMs);
    pause(static_cast<std::int64_t>(context_.random.next() %
                                    static_cast<std::uint64_t>(pause_limit_ms_ + 1)));
    pause_limit_ms_ = std::min(pause_limit_ms_ * 2, kLongestPauseMs);
  }
  expire();
  start();
}

void RequestQueue::pause(std::int64_t delay_ms) {
  pause_timer_.start(delay_ms, [this] { start(); });
}

// --- deadlines

void RequestQueue::expire() {
  const std::int64_t now_ms = context_.clock.monotonic_ms();
  while (!by_deadline_.empty() && by_deadline_.begin()->first <= now_ms) {
    const std::unique_ptr<Request> request = take(by_deadline_.begin()->second);
    request->fail(too_late(*request));
  }
  arm_deadline();
}

void RequestQueue::arm_deadline() {
  if (by_deadline_.empty()) return;
  const std::int64_t deadline_ms = by_deadline_.begin()->first;
  if (deadline_timer_.running() && deadline_ms_ <= deadline_ms) return;
  deadline_timer_.cancel();
  deadline_ms_ = deadline_ms;
  const std::int64_t delay_ms =
      std::max<std::int64_t>(deadline_ms_ - context_.clock.monotonic_ms(), 0);
  deadline_timer_.start(delay_ms, [this] { expire(); });
}

}  // namespace seqd
