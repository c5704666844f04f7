// Of Process: what operators order: stops, drains, advances, purges, and the way out of service.
#include <algorithm>
#include <vector>

#include "daemon/state/decommission_mark.h"
#include "tests/sim/process.h"
#include "tests/sim/site.h"

namespace seqd::sim {

void Process::begin_stop() {
  if (!turn_->serving()) return;
  floor_watch_->set_interval(0);
  turn_->begin_stop({ErrorCode::STOPPING, "the daemon is stopping"});
  for (const auto& [number, connection] : connections_) {
    connection->session->closing = true;
    connection->attend();
  }
  place_.later(2'000, [this] {
    if (turn_->phase() != Turn::Phase::stopping) return;
    turn_->leave();
    request_turn();
  });
  request_turn();
}

void Process::drain(const char* sequence) {
  const SequenceId id = table_->find(sequence);
  if (!turn_->serving() || id == 0) return;
  // What becomes of a return that is given up is known to the former database only.
  if (place_.elsewhere && table_->at(id).draining().returning() > 0) return;
  const std::int64_t timeout_ms = stage_.random.between(0, 6'000);
  const Status begun = table_->drain(id, timeout_ms, [this](const DrainReport& report) {
    stage_.happened(Kind::drained, number(), std::ssize(report.returned), std::ssize(report.gaps));
  });
  if (begun.ok()) request_turn();
}

void Process::advance(const char* sequence) {
  const SequenceId id = table_->find(sequence);
  if (!turn_->serving() || id == 0) return;
  const std::int64_t high_water = table_->at(id).high_water();
  const std::int64_t next =
      stage_.random.below(2) == 0 ? 0 : high_water + stage_.random.between(1, 500);
  table_->advance(id, next, true, [this](const Result<std::int64_t>& reached) {
    if (reached.ok()) stage_.happened(Kind::advanced, number(), *reached);
  });
  request_turn();
}

void Process::resume_stores() {
  if (!turn_->serving() || place_.elsewhere) return;
  for (const Database* database : place_.databases) {
    const StoreScope* scope = table_->scope_of_store(database->name());
    if (scope == nullptr || !scope->restored() || database->is_put_back()) continue;
    for (const Sequence* sequence : table_->list()) {
      if (&sequence->scope() != scope || !sequence->awaits_advance() || sequence->in_flight())
        continue;
      table_->advance(sequence->id(), 0, true, [](const Result<std::int64_t>&) {});
    }
    if (!table_->resume_store(database->name()).ok()) continue;
    if (scope->restored()) stage_.history.violation("a store was resumed and is still stopped");
    stage_.happened(Kind::store_resumed, number());
  }
}

void Process::purge() {
  if (!turn_->serving()) return;
  PurgeOrder order;
  order.name = Site::kSequenceNames[Site::kWithPeriods];
  order.remove = true;
  // What is left of a page is removed by the next one who purges.
  static_cast<void>(purge_->begin(order, [this](const Result<PurgeReport>& report) {
    if (report.ok()) check_removed(*report);
  }));
  request_turn();
}

Status Process::mark(const std::vector<RetiredInstance>& instances) {
  return write_decommission_mark(*state_directory_, instances);
}

void Process::take_out_of_service() {
  using End = DecommissionReport::End;
  if (!turn_->serving()) return;
  const Status begun = decommission_->begin(
      false, stage_.random.between(0, 6'000), [this](const DecommissionReport& report) {
        if (report.end == End::refused) stage_.happened(Kind::not_decommissioned, number());
        if (report.end == End::unfinished) stage_.happened(Kind::half_decommissioned, number());
        if (report.end != End::done) return;
        stage_.happened(Kind::decommissioned, number());
        decommissioned_ = true;
        begin_stop();
      });
  if (begun.ok()) request_turn();
}

void Process::check_removed(const PurgeReport& report) const {
  const std::int64_t now_s = std::min(place_.machine.wall_ms(), stage_.wall_ms()) / 1'000;
  for (const PurgeReport::Counter& counter : report.counters) {
    if (counter.removed && counter.period.end_s + stage_.profile.retain_s > now_s)
      stage_.history.violation("the counter of " + counter.period.name + " was removed too early");
  }
}

}  // namespace seqd::sim
