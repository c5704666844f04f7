// start(): takes the state directory over: locks it, reads what the log says, decides by rules
// R1-R3 (daemon/state/start_rules.h) what of it this daemon may use, writes that as a new segment
// and opens the log behind it. Blocking; called once, before the loop runs.
//
// Invariant: a kill -9 at any moment in here changes nothing for the next start, but what it may
// say of damaged files, and nothing may be issued before it has returned.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/files/files.h"
#include "daemon/base/random.h"
#include "daemon/base/status.h"
#include "daemon/base/time/clock.h"
#include "daemon/base/worker.h"
#include "daemon/core/log/state_image.h"
#include "daemon/state/start_rules.h"
#include "daemon/state/state_log.h"

namespace seqd {

struct StartOptions {
  std::uint64_t state_log_size = StateLog::default_size;  // bytes of each of the two files
  AfterPowerLoss after_power_loss = AfterPowerLoss::forfeit;
  Token boot_id{};              // of the running system
  LogReader* reader = nullptr;  // is shown the log while it is read; null: none
  // The place of the witness was not configured: if it cannot be created, the start continues
  // without one.
  bool may_lack_witness = false;
};

// All of them outlive the log that start() makes.
struct StartPlaces {
  Directory& state;
  Directory& witness;  // on a tmpfs that outlives the process
  Worker& worker;      // of the log alone
  Random& random;
  Clock& clock;
};

struct Started {
  std::unique_ptr<StateLog> log;       // attach() it before the first commit
  StateImage image;                    // what the log says now, all of it durable
  std::string how;                     // see Judgement
  std::vector<GapMade> gaps;           // made by the start; for the journal
  std::vector<LeaseIntended> dropped;  // leases in flight that were given up; for the journal
  std::vector<std::string> warnings;   // state_warning events
};

// FENCED: another process holds the directory (the text has its pid): exit 75. STATE_CORRUPT: the
// log is of another version, or whole and contradictory: never reset, an operator must check it.
// STATE_IO: the directory cannot be used.
Result<Started> start(const StartPlaces& places, const StartOptions& options);

}  // namespace seqd
