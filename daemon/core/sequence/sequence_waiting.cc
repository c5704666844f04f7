// The requests that wait for IDs of a Sequence. The rest of sequence.h is in sequence.cc.
#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/core/sequence/sequence.h"
#include "daemon/core/table/sequence_accounts.h"

namespace seqd {
namespace {

Status too_many_wait(const SequenceAccounts& accounts, UserId user) {
  return {ErrorCode::BUSY,
          std::to_string(accounts.waiting_of(user)) + " requests of this user and " +
              std::to_string(accounts.waiting()) +
              " in all wait for IDs already, and one user may not have all of the " +
              "places (limits.max_waiting)"};
}

}  // namespace

Status Sequence::wait(const Caller& caller, IssueKind kind, std::int64_t count,
                      std::int64_t timeout_ms) {
  if (!ending_.ok()) return ending_;
  if (!refusing_.ok()) return refusing_;
  if (!stopped_.ok()) return stopped_;
  if (!log_failure_.ok()) return log_failure_;
  if (count > settings_.max_available) {
    return {ErrorCode::TOO_LARGE,
            std::to_string(count) + " IDs at once are above the gap budget of \"" + name() +
                "\", " + std::to_string(settings_.max_available) + " (sequence.max_available)"};
  }
  // Trying again soon would not help, and the next try is not due yet.
  if (!failing_.ok() && !lease_.idle() && held_.available() - waiters_.demand() < count)
    return failing_;
  if (!waiters_.may_push(caller.user, settings_.max_waiters)) {
    return {ErrorCode::BUSY,
            std::to_string(waiters_.size_of(caller.user)) + " requests of this user and " +
                std::to_string(waiters_.size()) + " in all wait for \"" + name() +
                "\" already, and one user may not have all of the places (sequence.max_waiters)"};
  }
  if (!attention_.accounts().may_wait(caller.user))
    return too_many_wait(attention_.accounts(), caller.user);
  wanted_ = true;
  touch();
  if (timeout_ms < 0) timeout_ms = settings_.wait_timeout_ms;
  if (timeout_ms == 0) {
    return {ErrorCode::UNAVAILABLE,
            "no ID of \"" + name() + "\" is available and the request does not wait"};
  }
  const std::int64_t deadline_ms = context_.clock.monotonic_ms() + timeout_ms;
  if (deadline_ms < deadline_ms_) context_.timers.cancel(std::exchange(deadline_timer_, 0));
  waiters_.push({caller, kind, count, deadline_ms});
  attention_.accounts().waiting_began(id_, caller);
  return {};
}

std::int64_t Sequence::cancel(SessionId session, const Status& why) {
  std::int64_t cancelled = 0;
  while (const std::optional<Waiter> waiter = waiters_.take_of(session)) {
    attention_.accounts().waiting_ended(id_, waiter->caller);
    if (!why.ok()) context_.replies.failed(waiter->caller, why);
    ++cancelled;
  }
  if (cancelled > 0) touch();
  return cancelled;
}

void Sequence::serve_waiters() {
  if (!waiters_.empty() && !context_.log.accepting()) {
    touch();  // again in the next turn
    return;
  }
  while (!waiters_.empty() && open_ && held_.issuable() >= waiters_.front().count) {
    const Waiter waiter = waiters_.pop();
    // One entry is set aside for it, which nobody else could take.
    const std::int64_t more = held_.pieces(waiter.count) - 1;
    const bool kept = more == 0 || attention_.accounts().may_keep(waiter.caller.client, more);
    attention_.accounts().waiting_ended(id_, waiter.caller);
    if (!kept) {
      context_.replies.failed(
          waiter.caller, {ErrorCode::BUSY,
                          "the IDs of this request are of more ranges than may be kept for the "
                          "repeats of this client: acknowledge (ack), or ask for fewer"});
      continue;
    }
    IssueAs as{waiter.kind, 0};
    if (waiter.kind == IssueKind::text) as.wall_s = context_.clock.wall_ms() / 1'000;
    std::vector<Run> runs;
    std::int64_t left = waiter.count;
    while (left > 0) {
      const IdRange range = held_.take(left);
      left -= range.size();
      note_issue(range.begin(), range.end(), waiter.caller, as);
      add_run(runs, {range.begin(), range.size(), 1});
    }
    if (waiter.kind == IssueKind::text) {
      context_.replies.issued_text(waiter.caller, id_, runs.front().first, as.wall_s);
    } else {
      context_.replies.issued(waiter.caller, id_, waiter.kind, runs);
    }
  }
}

// Those whom `available` IDs will do stay.
void Sequence::fail_waiters(const Status& status, std::int64_t available) {
  const auto in_vain = [&available](const Waiter& waiter) {
    if (waiter.count > available) return true;
    available -= waiter.count;
    return false;
  };
  waiters_.remove_if(in_vain, [&](const Waiter& waiter) {
    attention_.accounts().waiting_ended(id_, waiter.caller);
    context_.replies.failed(waiter.caller, status);
  });
}

void Sequence::expire_waiters() {
  const std::int64_t now_ms = context_.clock.monotonic_ms();
  const Status cause = error();
  const Status late(ErrorCode::UNAVAILABLE,
                    "no ID of \"" + name() + "\" within the time allowed: " +
                        (cause.ok() ? "the store has not answered yet" : cause.to_string()));
  while (const std::optional<Waiter> waiter = waiters_.take_overdue(now_ms)) {
    attention_.accounts().waiting_ended(id_, waiter->caller);
    context_.replies.failed(waiter->caller, late);
  }
}

void Sequence::arm_deadline() {
  if (waiters_.empty() || deadline_timer_ != 0) return;
  deadline_ms_ = waiters_.earliest_deadline_ms();
  const std::int64_t delay_ms = deadline_ms_ - context_.clock.monotonic_ms();
  deadline_timer_ = context_.timers.schedule(std::max<std::int64_t>(delay_ms, 0), [this] {
    deadline_timer_ = 0;
    expire_waiters();
    touch();
  });
}

}  // namespace seqd
