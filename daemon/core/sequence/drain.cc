#include "daemon/core/sequence/drain.h"

#include <optional>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// Ranges that are written off in one turn.
constexpr int kMostATurn = 256;

}  // namespace

void Drain::begin(Reuse reuse, std::int64_t deadline_ms, Done done, GapCause cause,
                  std::function<void()> changed) {
  ASSERT(done != nullptr);
  if (active()) {
    order_->done.push_back(std::move(done));
    return;
  }
  order_ = std::make_unique<Order>(context_.timers);
  order_->cause = cause;
  order_->deadline_ms = deadline_ms;
  order_->report.reuse = reuse;
  order_->done.push_back(std::move(done));
  order_->changed = std::move(changed);
  order_->timer.start(deadline_ms - context_.clock.monotonic_ms(), [this] { order_->changed(); });
  order_->changed();
}

void Drain::step(Issuer& issuer, LeaseSlot& slot, bool busy) {
  ASSERT(active());
  if (context_.clock.monotonic_ms() >= order_->deadline_ms)
    return end(issuer.held().available(), slot.returning());
  if (busy || !slot.empty()) return;
  for (int left = kMostATurn;; --left) {
    // The rest in a later turn.
    if (left == 0 || !context_.log.accepting()) return order_->changed();
    const std::optional<HeldRanges::Held> last = issuer.held().take_last();
    if (!last) break;
    const Reuse reuse = order_->report.reuse;
    if (reuse != Reuse::never) return slot.begin_return(last->range, reuse, order_->deadline_ms);
    issuer.write_off(
        *last, order_->cause,
        order_->cause == GapCause::period_end ? "the period is over" : "it was drained");
    note_gap({last->range.begin(), last->range.end()}, "reuse is \"never\" for this sequence");
  }
  end(issuer.held().available(), slot.returning());
}

void Drain::note_returned(DrainReport::Span span) {
  if (active()) order_->report.returned.push_back(span);
}

void Drain::note_gap(DrainReport::Span span, const std::string& why) {
  if (!active()) return;
  order_->report.gaps.push_back(span);
  order_->report.why = why;
}

void Drain::end(std::int64_t available, std::int64_t returning) {
  ASSERT(active());
  const std::unique_ptr<Order> order = std::move(order_);
  order->timer.cancel();
  order->report.returning = returning;
  order->report.available = available;
  order->changed();
  for (const Done& done : order->done) done(order->report);
}

}  // namespace seqd
