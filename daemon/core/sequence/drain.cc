#include "daemon/core/sequence/drain.h"

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

std::optional<ReturnOpened> Drain::open_return() const {
  const ReturnOpened* const opened = open_ == nullptr ? nullptr : open_->range_return();
  return opened == nullptr ? std::nullopt : std::optional(*opened);
}

std::int64_t Drain::returning() const {
  const std::optional<ReturnOpened> open = open_return();
  return open ? open->end - open->begin : 0;
}

bool Drain::begin(Reuse reuse, std::int64_t deadline_ms, Done done, GapCause cause,
                  std::function<void()> late) {
  ASSERT(done != nullptr);
  if (active()) {
    order_->done.push_back(std::move(done));
    return false;
  }
  order_ = std::make_unique<Order>(context_.timers);
  order_->cause = cause;
  order_->deadline_ms = deadline_ms;
  order_->report.reuse = reuse;
  order_->done.push_back(std::move(done));
  order_->timer.start(deadline_ms - context_.clock.monotonic_ms(), std::move(late));
  return true;
}

void Drain::note_returned(DrainReport::Span span) {
  if (active()) order_->report.returned.push_back(span);
}

void Drain::note_gap(DrainReport::Span span, const std::string& why) {
  if (!active()) return;
  order_->report.gaps.push_back(span);
  order_->report.why = why;
}

std::unique_ptr<const Drain::Order> Drain::end(std::int64_t available) {
  ASSERT(active());
  order_->timer.cancel();
  order_->report.returning = returning();
  order_->report.available = available;
  return std::move(order_);
}

std::int64_t Drain::next_delay_ms(bool contended) {
  if (backoff_ == nullptr) backoff_ = std::make_unique<Backoff>();
  return contended ? backoff_->next_after_conflict_ms(context_.random)
                   : backoff_->next_ms(context_.random);
}

}  // namespace seqd
