#include "daemon/main/daemon_facts.h"

#include <unistd.h>

#include "daemon/core/upkeep/runway_watch.h"
#include "daemon/main/config/config_stores.h"
#include "protocol/version.h"

namespace seqd {

namespace {

std::string stopped_text(std::int64_t stopped) {
  return stopped == 0 ? "" : "; " + std::to_string(stopped) + " stopped";
}

std::string runway_text(SequenceTable& table) {
  const auto& runway = table.accounts().rates().smallest();
  if (!runway || runway->ms >= RunwayWatch::kSoonMs) return "";
  return "; runway " + std::to_string(runway->ms / 1'000) + " s (" +
         table.at(runway->sequence).name() + ")";
}

}  // namespace

std::string status_line(SequenceTable& table, std::size_t connections) {
  const SequenceAccounts::Sums& sums = table.accounts().sums();
  const std::size_t sequences = table.sequences().size();
  std::string line = std::to_string(sequences) + (sequences == 1 ? " sequence, " : " sequences, ") +
                     std::to_string(sums.issued) + " IDs issued, " +
                     std::to_string(sums.available) + " available, " + std::to_string(connections) +
                     " connections" + stopped_text(sums.stopped) + runway_text(table);
  for (const StoreScope* const scope : table.scopes().all()) {
    if (scope->store() == nullptr) continue;
    line += "; store " + scope->store_name() + " " + scope->state_name();
    if (!scope->last_error().ok()) line += " (" + scope->last_error().to_string() + ")";
  }
  return line;
}

std::vector<StoreFacts> store_facts(const Configuration& configuration, const SequenceTable& table,
                                    const Stores& stores) {
  std::vector<StoreFacts> facts;
  for (const auto& [name, settings] : configuration.stores) {
    const StoreScope* scope = table.scopes().find(name);
    const Status error = scope != nullptr ? scope->last_error() : Status();
    facts.push_back({name, store_type_name(settings.type),
                     scope != nullptr ? scope->state_name() : "waiting",
                     error.ok() ? "" : error.to_string(), stores.lease_mode(name),
                     &stores.lease_figures(name), stores.warning(name)});
  }
  return facts;
}

DaemonFacts process_facts(const StateLog& log) {
  DaemonFacts facts;
  facts.version = SEQD_VERSION;
  facts.pid = getpid();
  const StateLog::Statistics statistics = log.statistics();
  facts.log_position = statistics.position;
  facts.log_syncs = statistics.syncs;
  facts.log_rotations = statistics.rotations;
  facts.log_sync_durations = &log.sync_durations();
  return facts;
}

}  // namespace seqd
