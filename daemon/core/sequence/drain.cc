#include "daemon/core/sequence/drain.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/log/gap_event.h"
#include "daemon/core/log/state_image.h"

namespace seqd {
namespace {

// How long a return of an earlier daemon is tried before it is abandoned.
constexpr std::int64_t kAdoptedMs = 30'000;

// Ranges that are written off in one turn.
constexpr int kMostATurn = 256;

}  // namespace

constexpr StateTable<Drain::State> Drain::kMoves = {
    {State::idle, "idle", {State::draining}},
    {State::draining, "draining", {State::idle}},
};

Drain::Work::Work(const CoreContext& context, Owner& drained, ReturnOperation::Owner& owner)
    : sequence(drained.id()),
      name(drained.name()),
      operation(context, owner, sequence, name),
      timer(context.timers) {
  operation.set_store(drained.store());
}

Drain::Work& Drain::work() {
  if (work_ == nullptr) {
    ReturnOperation::Owner& owner = *this;
    work_ = std::make_unique<Work>(context_, owner_, owner);
  }
  return *work_;
}

std::optional<ReturnOpened> Drain::open_return() const {
  if (work_ == nullptr) return std::nullopt;
  return work_->operation.opened() ? work_->operation.opened() : work_->left_open;
}

std::int64_t Drain::returning() const {
  const std::optional<ReturnOpened> open = open_return();
  return open ? open->end - open->begin : 0;
}

void Drain::begin(Reuse reuse, std::int64_t deadline_ms, Done done, GapCause cause) {
  Work& work = this->work();
  ASSERT(done != nullptr && (active() || work.done.empty()));
  work.done.push_back(std::move(done));
  if (active()) return;
  work.state.move_to(State::draining);
  work.cause = cause;
  work.deadline_ms = deadline_ms;
  work.report = DrainReport{};
  work.report.reuse = reuse;
  const std::int64_t left_ms = deadline_ms - context_.clock.monotonic_ms();
  work.timer.start(left_ms, [this] { owner_.drain_changed(); });
  owner_.drain_changed();
}

void Drain::go_further() {
  const bool late = context_.clock.monotonic_ms() >= work_->deadline_ms;
  const bool busy = returning() > 0 || !owner_.may_drain();
  if (busy && !late) return;
  for (int left = kMostATurn; !busy && !late; --left) {
    // The rest in a later turn.
    if (left == 0 || !context_.log.accepting()) return owner_.drain_changed();
    std::optional<HeldRanges::Held> last = held_.take_last();
    if (!last) break;
    if (work_->report.reuse != Reuse::never) {
      work_->operation.start(last->range, work_->report.reuse, work_->deadline_ms);
      return;
    }
    write_off(*last);
  }
  finish();
}

void Drain::write_off(const HeldRanges::Held& held) {
  const GapMade gap{work_->sequence, held.range.begin(), held.range.end(), work_->cause,
                    context_.clock.wall_ms()};
  context_.log.append(gap);
  work_->report.gaps.push_back({gap.begin, gap.end});
  work_->report.why = "reuse is \"never\" for this sequence";
  context_.events.raise(
      gap_event(gap, work_->name, held.lease, owner_.return_request().instance,
                work_->cause == GapCause::period_end ? "the period is over" : "it was drained"));
  owner_.written_off(gap.begin, gap.end, gap.cause);
}

void Drain::finish() {
  ASSERT(!work_->done.empty());
  work_->state.move_to(State::idle);
  work_->timer.cancel();
  work_->report.returning = returning();
  work_->report.available = held_.available();
  owner_.drain_changed();
  const DrainReport report = std::exchange(work_->report, {});
  for (const Done& done : std::exchange(work_->done, {})) done(report);
}

void Drain::return_over(const ReturnOpened& opened, const ReturnClosed& closed, const Status& why) {
  ASSERT(opened.token == closed.token && opened.sequence == work_->sequence);
  ASSERT(returning() == 0);
  if (closed.how == ReturnEnd::returned) {
    owner_.returned(opened.begin, opened.end, opened.reuse);
    if (active()) work_->report.returned.push_back({opened.begin, opened.end});
    context_.events.raise({EventKind::range_returned,
                           "[" + std::to_string(opened.begin) + ", " + std::to_string(opened.end) +
                               ") of \"" + work_->name + "\" was returned to the store",
                           {{"SEQUENCE", work_->name},
                            {"FIRST", std::to_string(opened.begin)},
                            {"COUNT", std::to_string(opened.end - opened.begin)},
                            {"LEASE", to_hex(opened.token)}}});
  } else {
    owner_.written_off(opened.begin, opened.end, closed.cause);
    if (active()) work_->report.gaps.push_back({opened.begin, opened.end});
    if (active()) work_->report.why = why.text();
    const GapMade gap{work_->sequence, opened.begin, opened.end, closed.cause, closed.wall_ms};
    context_.events.raise(
        gap_event(gap, work_->name, opened.token, owner_.return_request().instance, why.text()));
  }
  owner_.drain_changed();
}

void Drain::adopt() {
  if (work_ == nullptr || !work_->left_open) return;
  const ReturnOpened opened = *std::exchange(work_->left_open, std::nullopt);
  work_->operation.adopt(opened, context_.clock.monotonic_ms() + kAdoptedMs);
}

void Drain::go_on() {
  if (work_ != nullptr) work_->operation.go_on();
}

void Drain::abandon(GapCause cause, const std::string& why) {
  if (work_ == nullptr) return;
  const Status kept(ErrorCode::FENCED, "it was being returned, and " + why);
  if (!work_->left_open) return work_->operation.abandon_open(cause, kept);
  work_->operation.abandon(*std::exchange(work_->left_open, std::nullopt), cause, kept);
}

void Drain::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  if (const std::optional<ReturnOpened> open = open_return()) snapshot_return(*open, entry);
}

void Drain::stop() {
  if (work_ == nullptr) return;
  work_->operation.stop();
  if (active()) finish();
}

}  // namespace seqd
