#include "daemon/core/leasing/measured_store.h"

#include <utility>

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

}  // namespace

void MeasuredStore::lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) {
  store_.lease(request, [figures = figures_, &clock = clock_, began_us = clock_.monotonic_us(),
                         done = std::move(done)](LeaseOutcome outcome) {
    figures->durations.add(clock.monotonic_us() - began_us);
    figures->count(result_of(outcome));
    done(std::move(outcome));
  });
}

void MeasuredStore::resolve(const LeaseRequest& request, std::function<void(Resolution)> done) {
  store_.resolve(request, [figures = figures_, done = std::move(done)](Resolution resolution) {
    count(*figures, resolution);
    done(std::move(resolution));
  });
}

}  // namespace seqd
