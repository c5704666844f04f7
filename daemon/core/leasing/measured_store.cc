#include "daemon/core/leasing/measured_store.h"

#include <utility>

#include "daemon/core/leasing/store_health.h"

namespace seqd {
namespace {

LeaseResult result_of(const LeaseOutcome& outcome) {
  switch (outcome.kind) {
    case LeaseOutcome::Kind::granted:
      return LeaseResult::granted;
    case LeaseOutcome::Kind::refused:
      return outcome.contended ? LeaseResult::contended : LeaseResult::refused;
    case LeaseOutcome::Kind::unknown:
      break;
  }
  return LeaseResult::unknown;
}

// A look-up that failed ends nothing: another one follows.
void count(LeaseFigures& figures, const Resolution& resolution) {
  switch (resolution.kind) {
    case Resolution::Kind::granted:
      return figures.count(LeaseResult::found);
    case Resolution::Kind::absent:
      return figures.count(LeaseResult::absent);
    case Resolution::Kind::untraceable:
      return figures.count(LeaseResult::untraceable);
    case Resolution::Kind::failed:
      break;
  }
}

// Whether it shows that the store is there.
bool answers(const Status& status) {
  return as_seen_of_store(status).ok();
}
bool answers(const LeaseOutcome& outcome) {
  return outcome.kind == LeaseOutcome::Kind::granted || outcome.contended || outcome.restored ||
         (outcome.kind == LeaseOutcome::Kind::refused && answers(outcome.error));
}
bool answers(const Resolution& resolution) {
  const bool found =
      resolution.kind == Resolution::Kind::granted || resolution.kind == Resolution::Kind::absent;
  const bool failed = resolution.kind == Resolution::Kind::failed;
  return found || resolution.restored || (failed && answers(resolution.error));
}
bool answers(const ReturnOutcome& outcome) {
  return outcome.kind != ReturnOutcome::Kind::failed || outcome.contended || outcome.restored ||
         answers(outcome.error);
}
template <typename T>
bool answers(const Result<T>& result) {
  return answers(result.status());
}

// Whether it may be said without asking the store, as of a lease that left no record.
template <typename T>
bool needs_no_store(const T& /*answer*/) {
  return false;
}
bool needs_no_store(const Resolution& resolution) {
  return resolution.kind == Resolution::Kind::untraceable;
}

}  // namespace

template <typename Answer>
std::function<void(Answer)> MeasuredStore::watched(std::function<void(Answer)> done) {
  ++calls_->open;
  const bool first = !calls_->silent_since_us;
  if (first) calls_->silent_since_us = clock_.monotonic_us();
  return [calls = calls_, &clock = clock_, first, done = std::move(done)](Answer answer) {
    --calls->open;
    if (answers(answer)) {
      calls->silent_since_us.reset();
      if (calls->open > 0) calls->silent_since_us = clock.monotonic_us();
    } else if (first && calls->open == 0 && needs_no_store(answer)) {
      calls->silent_since_us.reset();
    }
    done(std::move(answer));
  };
}

std::int64_t MeasuredStore::silent_ms() const {
  if (!calls_->silent_since_us) return 0;
  const std::int64_t silent_ms = (clock_.monotonic_us() - *calls_->silent_since_us) / 1'000;
  return silent_ms > timeout_ms_ ? silent_ms : 0;
}

void MeasuredStore::identify(const Token& candidate, std::function<void(Result<Token>)> done) {
  store_.identify(candidate, watched(std::move(done)));
}

void MeasuredStore::lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) {
  store_.lease(request, [figures = figures_, &clock = clock_, began_us = clock_.monotonic_us(),
                         done = watched(std::move(done))](LeaseOutcome outcome) {
    figures->durations.add(clock.monotonic_us() - began_us);
    figures->count(result_of(outcome));
    done(std::move(outcome));
  });
}

void MeasuredStore::resolve(const LeaseRequest& request, std::function<void(Resolution)> done) {
  store_.resolve(request,
                 [figures = figures_, done = watched(std::move(done))](Resolution resolution) {
                   count(*figures, resolution);
                   done(std::move(resolution));
                 });
}

void MeasuredStore::claim(const ClaimRequest& request,
                          std::function<void(Result<ClaimOutcome>)> done) {
  store_.claim(request, watched(std::move(done)));
}

void MeasuredStore::beat(const BeatRequest& request,
                         std::function<void(Result<BeatOutcome>)> done) {
  store_.beat(request, watched(std::move(done)));
}

void MeasuredStore::read(const ReadRequest& request,
                         std::function<void(Result<CounterReading>)> done) {
  store_.read(request, watched(std::move(done)));
}

void MeasuredStore::advance(const AdvanceRequest& request,
                            std::function<void(Result<std::int64_t>)> done) {
  store_.advance(request, watched(std::move(done)));
}

void MeasuredStore::return_range(const ReturnRequest& request,
                                 std::function<void(ReturnOutcome)> done) {
  store_.return_range(request, watched(std::move(done)));
}

void MeasuredStore::forget(const ForgetRequest& request,
                           std::function<void(Result<InstanceRecords>)> done) {
  store_.forget(request, watched(std::move(done)));
}

}  // namespace seqd
