// CoreContext: what the outside world looks like to the core. Everything is passed in, so that the
// whole core runs in a simulator. The referenced objects outlive the core; loop thread.
#pragma once

#include "daemon/base/events.h"
#include "daemon/base/random.h"
#include "daemon/base/time/clock.h"
#include "daemon/base/time/timers.h"
#include "daemon/core/context/history_sink.h"
#include "daemon/core/context/reply_sink.h"
#include "daemon/core/log/remainder_log.h"

namespace seqd {

struct CoreContext {
  Clock& clock;
  Timers& timers;
  Random& random;
  RemainderLog& log;
  EventSink& events;
  ReplySink& replies;
  HistorySink* history = nullptr;  // null: no history is kept
};

}  // namespace seqd
