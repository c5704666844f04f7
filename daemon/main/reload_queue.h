// ReloadQueue: reads the configuration again on request, one reload at a time and at most one a
// second: requests that arrive meanwhile get the outcome of the next reload. Requests in a loop
// neither stall the event loop nor flood the journal. Owned by the Daemon; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "daemon/base/fair_share.h"
#include "daemon/base/one_shot.h"
#include "daemon/base/time/clock.h"
#include "daemon/rpc/control.h"

namespace seqd {

class ReloadQueue {
 public:
  using Done = std::function<void(const Result<ReloadReport>&)>;
  static constexpr std::int64_t kPauseMs = 1'000;
  static constexpr std::int64_t kMostWaiting = 1'024;

  // Begins a reload, and calls its argument once when that has ended, at once or in a later turn.
  using Reload = std::function<void(Done)>;

  ReloadQueue(Clock& clock, Timers& timers, Reload reload);

  // `done` is called once, in a later turn, with a reload that began after this call. BUSY: too
  // many wait already, or the user has its share of them.
  Status ask(UserId user, Done done);
  // The daemon ends: no reload begins any more, and all requests fail with `why`, also that of a
  // reload in progress.
  void stop(const Status& why);

 private:
  using Waiting = std::vector<std::pair<UserId, Done>>;

  void schedule();
  void run();
  void ended(const Result<ReloadReport>& report);

  Clock& clock_;
  const Reload reload_;
  Waiting waiting_;
  Waiting current_;  // with the reload that is under way
  bool under_way_ = false;
  FairShare share_{kMostWaiting, 1};
  Status ending_;
  OneShot timer_;
  std::int64_t next_ms_ = 0;  // not before
};

}  // namespace seqd
