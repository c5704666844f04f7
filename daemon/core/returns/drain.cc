#include "daemon/core/returns/drain.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/history/gap_event.h"
#include "daemon/core/log/state_image.h"

namespace seqd {
namespace {

// A return of an earlier daemon is tried for so long before it is given up.
constexpr std::int64_t kAdoptedMs = 30'000;

// Ranges that are written off in one turn.
constexpr int kMostATurn = 256;

}  // namespace

constexpr StateTable<Drain::State> Drain::kMoves = {
    {State::idle, "idle", {State::draining}},
    {State::draining, "draining", {State::idle}},
};

Drain::Drain(const CoreContext& context, Owner& owner, HeldRanges& held, SequenceId sequence,
             const std::string& name)
    : context_(context),
      owner_(owner),
      held_(held),
      sequence_(sequence),
      name_(name),
      return_(context, *this, sequence, name) {}

std::int64_t Drain::returning() const {
  const std::optional<ReturnOpened>& open = open_return();
  return open ? open->end - open->begin : 0;
}

void Drain::begin(Reuse reuse, std::int64_t deadline_ms, Done done, GapCause cause) {
  ASSERT(done != nullptr && (active() || done_.empty()));
  done_.push_back(std::move(done));
  if (active()) return;
  state_.move_to(State::draining);
  cause_ = cause;
  deadline_ms_ = deadline_ms;
  report_ = DrainReport{};
  report_.reuse = reuse;
  const std::int64_t left_ms = deadline_ms - context_.clock.monotonic_ms();
  timer_.start(left_ms, [this] { owner_.drain_changed(); });
  owner_.drain_changed();
}

void Drain::step() {
  if (!active()) return;
  const bool late = context_.clock.monotonic_ms() >= deadline_ms_;
  const bool busy = returning() > 0 || !owner_.may_drain();
  if (busy && !late) return;
  for (int left = kMostATurn; !busy && !late; --left) {
    // The rest in a later turn.
    if (left == 0 || !context_.log.accepting()) return owner_.drain_changed();
    std::optional<HeldRanges::Held> last = held_.take_last();
    if (!last) break;
    if (report_.reuse != Reuse::never) {
      return_.start(last->range, report_.reuse, deadline_ms_);
      return;
    }
    write_off(*last);
  }
  finish();
}

void Drain::write_off(const HeldRanges::Held& held) {
  const GapMade gap{sequence_, held.range.begin(), held.range.end(), cause_,
                    context_.clock.wall_ms()};
  context_.log.append(gap);
  report_.gaps.push_back({gap.begin, gap.end});
  report_.why = "reuse is \"never\" for this sequence";
  context_.events.raise(
      gap_event(gap, name_, held.lease, owner_.return_request().instance,
                cause_ == GapCause::period_end ? "the period is over" : "it was drained"));
  owner_.written_off(gap.begin, gap.end);
}

void Drain::finish() {
  ASSERT(!done_.empty());
  state_.move_to(State::idle);
  timer_.cancel();
  report_.returning = returning();
  report_.available = held_.available();
  owner_.drain_changed();
  const DrainReport report = std::exchange(report_, {});
  for (const Done& done : std::exchange(done_, {})) done(report);
}

void Drain::return_over(const ReturnOpened& opened, const ReturnClosed& closed, const Status& why) {
  ASSERT(opened.token == closed.token && opened.sequence == sequence_);
  ASSERT(returning() == 0);
  if (closed.how == ReturnEnd::returned) {
    owner_.returned(opened.begin, opened.end, opened.reuse);
    if (active()) report_.returned.push_back({opened.begin, opened.end});
    context_.events.raise({EventKind::range_returned,
                           "[" + std::to_string(opened.begin) + ", " + std::to_string(opened.end) +
                               ") of \"" + name_ + "\" was returned to the store",
                           {{"SEQUENCE", name_},
                            {"FIRST", std::to_string(opened.begin)},
                            {"COUNT", std::to_string(opened.end - opened.begin)},
                            {"LEASE", to_hex(opened.token)}}});
  } else {
    owner_.written_off(opened.begin, opened.end);
    if (active()) report_.gaps.push_back({opened.begin, opened.end});
    if (active()) report_.why = why.text();
    const GapMade gap{sequence_, opened.begin, opened.end, closed.cause, closed.wall_ms};
    context_.events.raise(
        gap_event(gap, name_, opened.token, owner_.return_request().instance, why.text()));
  }
  owner_.drain_changed();
}

void Drain::adopt() {
  if (!left_open_) return;
  const ReturnOpened opened = *std::exchange(left_open_, std::nullopt);
  return_.adopt(opened, context_.clock.monotonic_ms() + kAdoptedMs);
}

void Drain::abandon(GapCause cause, const std::string& why) {
  const Status kept(ErrorCode::FENCED, "it was being returned, and " + why);
  if (!left_open_) return return_.abandon_open(cause, kept);
  return_.abandon(*std::exchange(left_open_, std::nullopt), cause, kept);
}

void Drain::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  if (open_return()) snapshot_return(*open_return(), entry);
}

void Drain::stop() {
  return_.stop();
  if (active()) finish();
}

}  // namespace seqd
