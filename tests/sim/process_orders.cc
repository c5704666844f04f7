// Of Process: what operators order: stops, drains, advances, purges, and the way out of service.
#include <algorithm>
#include <vector>

#include "daemon/core/sequence/sequence_state.h"
#include "daemon/core/text/period.h"
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

// Of `name`, what is left of a period that the configuration does not know any more; 0: nothing.
SequenceId Process::find_left_over(std::string_view name) const {
  for (const Sequence* sequence : table_->sequences().all()) {
    const bool is_left = !period_of(sequence->name()).empty() && !holds_nothing(*sequence) &&
                         sequence->stop_cause() == StopCause::unconfigured;
    if (is_left && base_of(sequence->name()) == name) return sequence->id();
  }
  return 0;
}

void Process::drain(const char* sequence) {
  const SequenceId left_over = find_left_over(sequence);
  const SequenceId id = left_over != 0 ? left_over : table_->find(sequence);
  if (!turn_->serving() || id == 0) return;
  // What becomes of a return that is given up is known to the former counter only.
  const Sequence& drained = table_->at(id);
  const bool gives_up = place_.elsewhere || !seqd::is_configured(drained);
  if (gives_up && drained.slot().returning() > 0) return;
  const std::int64_t timeout_ms = stage_.random.between(0, 6'000);
  excuses_.wait_until(stage_.time.monotonic_ms() + timeout_ms + Excuses::kSoonMs);
  const Status begun = table_->orders().drain(id, timeout_ms, [this](const DrainReport& report) {
    stage_.happened(Kind::drained, number(), std::ssize(report.returned), std::ssize(report.gaps));
  });
  if (begun.ok()) request_turn();
  if (left_over == 0) return;
  stage_.happened(Kind::left_over_drained, number());
  if (begun.code() == ErrorCode::NO_SEQUENCE)
    stage_.history.violation("what is left of \"" + table_->at(id).name() + "\" cannot leave");
}

void Process::advance(const char* sequence) {
  const SequenceId id = table_->find(sequence);
  if (!turn_->serving() || id == 0) return;
  const std::int64_t high_water = table_->at(id).definition().high_water();
  const std::int64_t next =
      stage_.random.below(2) == 0 ? 0 : high_water + stage_.random.between(1, 500);
  table_->orders().advance(id, next, true, [this, sequence](const Result<std::int64_t>& reached) {
    if (!reached.ok()) return;
    stage_.happened(Kind::advanced, number(), *reached);
    advanced_ms_[sequence] = stage_.time.monotonic_ms();
  });
  request_turn();
}

std::int64_t Process::advanced_ms(const std::string& sequence) const {
  const auto found = advanced_ms_.find(sequence);
  return found == advanced_ms_.end() ? -1 : found->second;
}

void Process::advance_ahead() {
  const SequenceSettings* const settings = settings_.find(Site::kSequenceNames[Site::kWithPeriods]);
  if (!turn_->serving() || settings == nullptr || settings->periods.rule == nullptr) return;
  const PeriodRule& rule = *settings->periods.rule;
  Period period = rule.at(place_.machine.wall_ms() / 1'000);
  for (std::int64_t more = stage_.random.between(1, 40); more > 0; --more)
    period = rule.at(period.end_s);
  const Result<SequenceId> id = table_->open_to_advance(
      period_sequence(Site::kSequenceNames[Site::kWithPeriods], period.name));
  request_turn();
  if (!id.ok()) return;
  table_->orders().advance(*id, 0, false, [this](const Result<std::int64_t>& reached) {
    if (reached.ok()) stage_.happened(Kind::advanced_ahead, number(), *reached);
  });
}

bool Process::is_home(const std::string& store, const std::string& key) const {
  const auto& all = place_.home.by_name;
  return std::any_of(all.begin(), all.end(), [&](const auto& one) {
    const auto& [name, settings] = one;
    const bool has_periods = settings.periods.rule != nullptr;
    return settings.store == store &&
           (has_periods ? base_of(key) == name : settings.binding.key == key);
  });
}

std::optional<std::pair<std::int64_t, std::int64_t>> Process::held_of(const std::string& sequence) {
  const SequenceId id = table_->find(sequence);
  if (id == 0) return std::nullopt;
  for (const Block* block : table_->blocks().of(id))
    return std::pair(block->granted.begin, block->granted.end);
  const auto& ranges = table_->at(id).held().ranges();
  if (ranges.empty()) return std::nullopt;
  return std::pair(ranges.front().range.begin(), ranges.front().range.end());
}

void Process::resume_stores() {
  if (!turn_->serving() || place_.elsewhere) return;
  for (const Database* database : place_.databases) {
    const StoreScope* scope = table_->scopes().find(database->name());
    if (scope == nullptr || !scope->restored() || database->is_put_back()) continue;
    for (const Sequence* sequence : table_->sequences().all()) {
      if (&sequence->scope() != scope || !awaits_advance(*sequence) || in_flight(*sequence))
        continue;
      table_->orders().advance(sequence->id(), 0, true, [](const Result<std::int64_t>&) {});
    }
    if (!table_->scopes().resume(database->name()).ok()) continue;
    if (scope->restored()) stage_.history.violation("a store was resumed and is still stopped");
    stage_.happened(Kind::store_resumed, number());
  }
}

void Process::purge() {
  if (!turn_->serving()) return;
  PurgeOrder order;
  order.name = Site::kSequenceNames[Site::kWithPeriods];
  order.remove = true;
  const SequenceSettings* const settings = settings_.find(order.name);
  const std::int64_t retain_s = settings == nullptr ? 0 : settings->periods.retain_ms / 1'000;
  // What is left of a page is removed by the next one who purges.
  static_cast<void>(purge_->begin(order, [this, retain_s](const Result<PurgeReport>& report) {
    if (report.ok()) check_removed(*report, retain_s);
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
        check_left(report);
        if (report.end == End::unfinished) stage_.happened(Kind::half_decommissioned, number());
        if (report.end != End::done) return;
        stage_.happened(Kind::decommissioned, number());
        decommissioned_ = true;
        begin_stop();
      });
  if (begun.ok()) request_turn();
}

// Nobody can configure the former unit of a period again beside that of today.
void Process::check_left(const DecommissionReport& report) const {
  for (const DecommissionReport::OfSequence& part : report.sequences) {
    const bool kept = part.error.code() == ErrorCode::NO_SEQUENCE;
    if (kept && !period_of(part.name).empty() && is_configured(std::string(base_of(part.name))))
      stage_.history.violation("the rest of " + part.name + " keeps the daemon from leaving");
  }
}

// By the retention that the purge began with: once the store was asked to remove counters, a reload
// that keeps them longer comes too late.
void Process::check_removed(const PurgeReport& report, std::int64_t retain_s) const {
  const std::int64_t now_s = std::min(place_.machine.wall_ms(), stage_.wall_ms()) / 1'000;
  for (const PurgeReport::Counter& counter : report.counters) {
    if (counter.removed && counter.period.end_s + retain_s > now_s)
      stage_.history.violation("the counter of " + counter.period.name + " was removed too early");
  }
}

}  // namespace seqd::sim
