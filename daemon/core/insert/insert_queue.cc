#include "daemon/core/insert/insert_queue.h"

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

InsertQueue::InsertQueue(const CoreContext& context, const SettingsSource& settings,
                         InsertAccounts& accounts, std::string name, InsertStore& store)
    : context_(context),
      settings_(settings),
      name_(std::move(name)),
      store_(store),
      accounts_(accounts) {}

std::string_view InsertQueue::state_name() const {
  if (in_flight()) return "fetching";
  return error_.ok() ? "ready" : "waiting";
}

Result<const SequenceSettings*> InsertQueue::settings() const {
  const SequenceSettings* found = settings_.find(name_);
  if (found == nullptr)
    return Status(ErrorCode::NO_SEQUENCE, "\"" + name_ + "\" is not configured any more");
  if (found->mode != SequenceMode::insert)
    return Status(ErrorCode::WRONG_MODE, "\"" + name_ + "\" does not insert any more");
  return found;
}

Status InsertQueue::add(Request request) {
  if (!ending_.ok()) return ending_;
  const Result<const SequenceSettings*> found = settings();
  if (!found.ok()) return found.status();
  const SequenceSettings& settings = **found;
  places_.set_total(settings.max_waiters);
  if (!places_.allows(request.user, 1)) {
    return {ErrorCode::BUSY,
            "\"" + name_ + "\" has " + std::to_string(places_.used_by(request.user)) +
                " documents of this user and " + std::to_string(places_.used()) +
                " in all waiting already, and one user may not have all of the places "
                "(max_waiters)"};
  }
  Entry entry;
  entry.place =
      accounts_.add(*this, places_, request.session, request.user, request.document.size());
  if (entry.place == nullptr) {
    return {ErrorCode::BUSY, "the documents that wait, of all sequences, take " +
                                 std::to_string(accounts_.bytes()) + " bytes; " +
                                 std::to_string(InsertAccounts::kMostBytes) +
                                 " are allowed, and one user may not have all of them"};
  }
  entry.session = request.session;
  entry.item = {std::make_shared<const std::string>(std::move(request.document)),
                std::move(request.unique)};
  entry.deadline_ms = context_.clock.monotonic_ms() +
                      (request.timeout_ms < 0 ? settings.wait_timeout_ms : request.timeout_ms);
  entry.done = std::move(request.done);
  put(queue_.end(), std::move(entry));
  start();
  arm_deadline();
  return {};
}

void InsertQueue::put(Queue::iterator before, Entry entry) {
  const auto at = queue_.insert(before, std::move(entry));
  at->by_deadline = by_deadline_.emplace(at->deadline_ms, at);
  at->by_session = by_session_.emplace(at->session, at);
  ASSERT(by_deadline_.size() == queue_.size() && by_session_.size() == queue_.size());
}

InsertQueue::Entry InsertQueue::take(Queue::iterator at) {
  by_deadline_.erase(at->by_deadline);
  by_session_.erase(at->by_session);
  Entry entry = std::move(*at);
  queue_.erase(at);
  ASSERT(by_deadline_.size() == queue_.size() && by_session_.size() == queue_.size());
  return entry;
}

void InsertQueue::cancel(SessionId session, const Status& why) {
  for (auto at = by_session_.find(session); at != by_session_.end();
       at = by_session_.find(session)) {
    const Entry entry = take(at->second);
    if (!why.ok()) entry.done(entry.perhaps.ok() ? why : entry.perhaps);
  }
  for (Entry& entry : sent_) {
    if (entry.session != session) continue;
    if (!why.ok()) {
      entry.refused = why;
      continue;
    }
    entry.session = 0;
    entry.place->leave_session();
  }
}

void InsertQueue::begin_stop(const Status& why) {
  ending_ = why;
  fail_all(why);
}

void InsertQueue::fail_all(const Status& why) {
  by_deadline_.clear();
  by_session_.clear();
  for (Entry& entry : std::exchange(queue_, {}))
    entry.done(entry.perhaps.ok() ? why : entry.perhaps);
}

// --- one round

void InsertQueue::start() {
  if (in_flight() || pause_timer_.running() || queue_.empty()) return;
  const Result<const SequenceSettings*> found = settings();
  if (!found.ok()) return fail_all(found.status());
  const SequenceSettings& settings = **found;
  InsertBatch batch;
  batch.collection = settings.binding.collection;
  batch.first_id = settings.binding.first_id;
  batch.max_value = settings.max_value;
  std::int64_t latest_ms = 0;
  std::size_t bytes = 0;
  while (!queue_.empty() && sent_.size() < kMostDocuments) {
    bytes += queue_.front().item.document->size();
    if (!sent_.empty() && bytes > kMostBatchBytes) break;
    sent_.push_back(take(queue_.begin()));
    latest_ms = std::max(latest_ms, sent_.back().deadline_ms);
    batch.items.push_back(sent_.back().item);
  }
  ASSERT(!sent_.empty() && batch.items.size() == sent_.size());
  batch.patience_ms =
      std::clamp(latest_ms - context_.clock.monotonic_ms(), kLeastPatienceMs, kMostPatienceMs);
  store_.insert(batch, [this](const std::vector<InsertOutcome>& outcomes) { answered(outcomes); });
}

void InsertQueue::answered(const std::vector<InsertOutcome>& outcomes) {
  ASSERT(outcomes.size() == sent_.size());
  const auto is = [](InsertOutcome::Kind kind) {
    return [kind](const InsertOutcome& outcome) { return outcome.kind == kind; };
  };
  const bool any = std::any_of(outcomes.begin(), outcomes.end(), is(InsertOutcome::Kind::inserted));
  bool failed = std::any_of(outcomes.begin(), outcomes.end(), is(InsertOutcome::Kind::failed));
  const bool contended =
      std::any_of(outcomes.begin(), outcomes.end(), is(InsertOutcome::Kind::contended));
  std::vector<Entry> sent = std::exchange(sent_, {});
  const auto first = queue_.begin();
  for (std::size_t at = 0; at < sent.size(); ++at) {
    if (!settle(sent[at], outcomes[at])) continue;
    failed = failed || outcomes[at].kind == InsertOutcome::Kind::unknown;
    if (!sent[at].refused.ok()) {
      sent[at].done(sent[at].perhaps.ok() ? sent[at].refused : sent[at].perhaps);
    } else if (sent[at].tries >= kMostTries) {
      sent[at].done(too_late(sent[at]));
    } else {
      put(first, std::move(sent[at]));
    }
  }
  sent.clear();
  if (!failed) {
    error_ = {};
    backoff_.reset();
  }
  if (any || !contended) pause_limit_ms_ = 1;
  if (!ending_.ok()) return fail_all(ending_);
  if (failed) {
    pause(backoff_.next_ms(context_.random));
  } else if (contended) {
    ASSERT(pause_limit_ms_ >= 1 && pause_limit_ms_ <= kLongestPauseMs);
    pause(static_cast<std::int64_t>(context_.random.next() %
                                    static_cast<std::uint64_t>(pause_limit_ms_ + 1)));
    pause_limit_ms_ = std::min(pause_limit_ms_ * 2, kLongestPauseMs);
  }
  expire();
  start();
}

bool InsertQueue::settle(Entry& entry, const InsertOutcome& outcome) {
  switch (outcome.kind) {
    case InsertOutcome::Kind::inserted:
      ++inserted_;
      accounts_.inserted();
      last_ = std::max(last_.value_or(0), outcome.id);
      entry.done(outcome.id);
      return false;
    case InsertOutcome::Kind::refused:
      // What refuses the document has refused it before; any other error proves nothing about that
      // try.
      entry.done(entry.perhaps.ok() || outcome.error.code() == ErrorCode::DOCUMENT_REFUSED
                     ? outcome.error
                     : entry.perhaps);
      return false;
    case InsertOutcome::Kind::unknown:
      // A unique field makes it safe to send it again, which determines the outcome.
      if (!entry.item.unique.empty()) {
        entry.perhaps = outcome.error;
        break;
      }
      unknown(entry, outcome);
      return false;
    case InsertOutcome::Kind::failed:
      if (error_.ok()) {
        context_.events.raise({EventKind::insert_failed,
                               "sequence \"" + name_ + "\": " + outcome.error.to_string(),
                               {{"SEQUENCE", name_}}});
      }
      error_ = outcome.error;
      break;
    case InsertOutcome::Kind::contended:
      ++entry.tries;
      break;
    case InsertOutcome::Kind::untried:
      break;
  }
  return entry.session != 0;
}

void InsertQueue::unknown(const Entry& entry, const InsertOutcome& outcome) {
  context_.events.raise({EventKind::insert_unknown,
                         "sequence \"" + name_ + "\": " + outcome.error.text(),
                         {{"SEQUENCE", name_}, {"ID", std::to_string(outcome.id)}}});
  entry.done(outcome.error);
}

void InsertQueue::pause(std::int64_t delay_ms) {
  pause_timer_.start(delay_ms, [this] { start(); });
}

// --- deadlines

Status InsertQueue::too_late(const Entry& entry) const {
  if (!entry.perhaps.ok()) return entry.perhaps;
  if (!error_.ok()) return error_;
  if (entry.tries > 0) {
    return {ErrorCode::BUSY, "the document was not inserted: " + std::to_string(entry.tries) +
                                 " times others took the next _id of \"" + name_ + "\" first"};
  }
  return {ErrorCode::BUSY,
          "the document was not inserted: it waited for those before it for the whole time"};
}

void InsertQueue::expire() {
  const std::int64_t now_ms = context_.clock.monotonic_ms();
  while (!by_deadline_.empty() && by_deadline_.begin()->first <= now_ms) {
    const Entry entry = take(by_deadline_.begin()->second);
    entry.done(too_late(entry));
  }
  arm_deadline();
}

void InsertQueue::arm_deadline() {
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
