#include "daemon/core/insert_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace seqd {
namespace {

constexpr std::int64_t kLongestPauseMs = 64;
// Within these an unknown outcome is asked for, however long the callers would wait.
constexpr std::int64_t kLeastPatienceMs = 1'000;
constexpr std::int64_t kMostPatienceMs = 30'000;

}  // namespace

InsertQueue::InsertQueue(const CoreContext& context, const SettingsSource& settings,
                         std::string name, InsertStore& store)
    : context_(context), settings_(settings), name_(std::move(name)), store_(store) {}

InsertQueue::~InsertQueue() {
  context_.timers.cancel(pause_timer_);
  context_.timers.cancel(deadline_timer_);
}

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
  if (waiting() >= settings.max_waiters) {
    return {ErrorCode::BUSY, "\"" + name_ + "\" has " + std::to_string(waiting()) +
                                 " documents waiting already (max_waiters)"};
  }
  if (bytes_ + request.document.size() > kMostBytes) {
    return {ErrorCode::BUSY, "the documents that wait for \"" + name_ + "\" are above " +
                                 std::to_string(kMostBytes) + " bytes in all"};
  }
  bytes_ += request.document.size();
  const std::int64_t wait_ms =
      request.timeout_ms < 0 ? settings.wait_timeout_ms : request.timeout_ms;
  queue_.push_back({request.session,
                    std::make_shared<const std::string>(std::move(request.document)),
                    context_.clock.monotonic_ms() + wait_ms, 0, std::move(request.done)});
  start();
  if (!queue_.empty()) arm_deadline(queue_.back().deadline_ms);
  return {};
}

void InsertQueue::cancel(SessionId session) {
  const auto gone = [&](const Entry& entry) {
    if (entry.session != session) return false;
    bytes_ -= entry.document->size();
    return true;
  };
  std::erase_if(queue_, gone);
  for (Entry& entry : sent_) {
    if (entry.session == session) entry.session = 0;
  }
}

void InsertQueue::begin_stop(const Status& why) {
  ending_ = why;
  fail_all(why);
}

void InsertQueue::fail_all(const Status& why) {
  bytes_ = 0;
  for (Entry& entry : std::exchange(queue_, {})) entry.done(why);
}

// --- one round ---------------------------------------------------------------------------------

void InsertQueue::start() {
  if (in_flight() || pause_timer_ != 0 || queue_.empty()) return;
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
    Entry& entry = queue_.front();
    bytes += entry.document->size();
    if (!sent_.empty() && bytes > kMostBatchBytes) break;
    bytes_ -= entry.document->size();
    latest_ms = std::max(latest_ms, entry.deadline_ms);
    batch.documents.push_back(entry.document);
    sent_.push_back(std::move(entry));
    queue_.pop_front();
  }
  batch.patience_ms =
      std::clamp(latest_ms - context_.clock.monotonic_ms(), kLeastPatienceMs, kMostPatienceMs);
  store_.insert(batch, [this](const std::vector<InsertOutcome>& outcomes) { answered(outcomes); });
}

void InsertQueue::answered(const std::vector<InsertOutcome>& outcomes) {
  CHECK(outcomes.size() == sent_.size());
  const auto is = [](InsertOutcome::Kind kind) {
    return [kind](const InsertOutcome& outcome) { return outcome.kind == kind; };
  };
  const bool any = std::any_of(outcomes.begin(), outcomes.end(), is(InsertOutcome::Kind::inserted));
  const bool failed =
      std::any_of(outcomes.begin(), outcomes.end(), is(InsertOutcome::Kind::failed));
  const bool contended =
      std::any_of(outcomes.begin(), outcomes.end(), is(InsertOutcome::Kind::contended));
  std::vector<Entry> sent = std::exchange(sent_, {});
  std::vector<Entry> back;
  for (std::size_t at = 0; at < sent.size(); ++at) {
    if (settle(sent[at], outcomes[at])) back.push_back(std::move(sent[at]));
  }
  for (const Entry& entry : back) bytes_ += entry.document->size();
  queue_.insert(queue_.begin(), std::make_move_iterator(back.begin()),
                std::make_move_iterator(back.end()));
  if (!failed) {
    error_ = {};
    backoff_.reset();
  }
  if (any || !contended) pause_limit_ms_ = 1;
  if (!ending_.ok()) return fail_all(ending_);
  if (failed) {
    pause(backoff_.next_ms(context_.random));
  } else if (contended) {
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
      last_ = std::max(last_.value_or(0), outcome.id);
      entry.done(outcome.id);
      return false;
    case InsertOutcome::Kind::refused:
      entry.done(outcome.error);
      return false;
    case InsertOutcome::Kind::unknown:
      context_.events.raise({EventKind::insert_unknown,
                             "sequence \"" + name_ + "\": " + outcome.error.text(),
                             {{"SEQUENCE", name_}, {"ID", std::to_string(outcome.id)}}});
      entry.done(outcome.error);
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

void InsertQueue::pause(std::int64_t delay_ms) {
  pause_timer_ = context_.timers.schedule(delay_ms, [this] {
    pause_timer_ = 0;
    start();
  });
}

// --- deadlines ---------------------------------------------------------------------------------

Status InsertQueue::too_late(const Entry& entry) const {
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
  std::vector<Entry> over;
  for (auto entry = queue_.begin(); entry != queue_.end();) {
    if (entry->deadline_ms > now_ms && entry->tries < kMostTries) {
      ++entry;
      continue;
    }
    bytes_ -= entry->document->size();
    over.push_back(std::move(*entry));
    entry = queue_.erase(entry);
  }
  for (Entry& entry : over) entry.done(too_late(entry));
  if (queue_.empty()) return;
  arm_deadline(
      std::min_element(queue_.begin(), queue_.end(), [](const Entry& one, const Entry& other) {
        return one.deadline_ms < other.deadline_ms;
      })->deadline_ms);
}

void InsertQueue::arm_deadline(std::int64_t deadline_ms) {
  if (deadline_timer_ != 0 && deadline_ms_ <= deadline_ms) return;
  context_.timers.cancel(deadline_timer_);
  deadline_ms_ = deadline_ms;
  const std::int64_t delay_ms =
      std::max<std::int64_t>(deadline_ms_ - context_.clock.monotonic_ms(), 0);
  deadline_timer_ = context_.timers.schedule(delay_ms, [this] {
    deadline_timer_ = 0;
    expire();
  });
}

}  // namespace seqd
