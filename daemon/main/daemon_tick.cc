// What a Daemon does every second: the part of daemon.h that looks after the watchdog, the status
// line and the witness.
#include <algorithm>
#include <utility>

#include "daemon/main/daemon.h"

namespace seqd {
namespace {

constexpr std::int64_t kTickMs = 1'000;

}  // namespace

void Daemon::tick() {
  notifier_.watchdog();
  history_->tick();
  if (turn_->serving()) {
    std::string line = status_line();
    if (line != last_status_) notifier_.status(line);
    last_status_ = std::move(line);
    table_->replays().expire(clock_.monotonic_ms());
    keep_witness();
  }
  const std::int64_t watchdog_ms = ServiceNotifier::watchdog_interval_ms();
  tick_timer_.start(watchdog_ms > 0 ? std::min(kTickMs, watchdog_ms) : kTickMs, [this] { tick(); });
}

void Daemon::keep_witness() {
  const Result<Witness::Kept> kept = log_->keep_witness();
  const bool was_lost = std::exchange(witness_lost_, !kept.ok());
  if (!kept.ok()) {
    if (was_lost) return;
    journal_.raise({EventKind::state_warning,
                    "the witness was removed from " + witness_directory_->path() +
                        " and cannot be made there again (" + kept.status().to_string() +
                        "): a kill -9 would cost the available IDs. Restart seqd, which loses "
                        "nothing",
                    {}});
  } else if (*kept == Witness::Kept::made_again) {
    journal_.raise({EventKind::state_warning,
                    "the witness was removed from " + witness_directory_->path() +
                        " while seqd was running, and was made again. Find out what cleans up "
                        "there, or set witness_dir",
                    {}});
  }
}

}  // namespace seqd
