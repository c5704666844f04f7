// FloorLooks: the sequences whose requests wait until the floor of their counter is read. What a
// sequence had available when the daemon ended, or when its store went away, may lie below a floor
// that another daemon has set meanwhile; so it is compared before any of it is issued. If the store
// does not answer within kMostMs, the requests are served. Owned by Scopes; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "daemon/base/one_shot.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/words/log_types.h"

namespace seqd {

class FloorLooks {
 public:
  static constexpr std::int64_t kMostMs = 2'000;

  // `late`: so long was waited for that sequence. The context outlives this.
  FloorLooks(const CoreContext& context, std::function<void(SequenceId)> late)
      : clock_(context.clock), late_(std::move(late)), timer_(context.timers) {}

  // Requests of it wait. True: its floor is to be read now, for the first time; `may_ask`: the
  // store may be called.
  bool begin(SequenceId sequence, bool may_ask);
  // The floor was read, or could not be. Does nothing if no request waits for it.
  void end(SequenceId sequence);
  std::vector<SequenceId> waiting() const;

 private:
  struct Look {
    std::int64_t until_ms = 0;  // on the monotonic clock
    bool asked = false;
  };
  void watch();

  Clock& clock_;
  const std::function<void(SequenceId)> late_;
  std::map<SequenceId, Look> looks_;
  OneShot timer_;
};

}  // namespace seqd
