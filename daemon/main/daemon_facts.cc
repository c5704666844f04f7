#include "daemon/main/daemon_facts.h"

#include "daemon/main/config/config_stores.h"

namespace seqd {

std::string status_line(const SequenceTable& table, const SequenceAccounts::Sums& sums,
                        std::size_t connections) {
  const std::size_t sequences = table.size();
  std::string line = std::to_string(sequences) + (sequences == 1 ? " sequence, " : " sequences, ") +
                     std::to_string(sums.issued) + " IDs issued, " +
                     std::to_string(sums.available) + " available, " + std::to_string(connections) +
                     " connections";
  for (const auto& [id, scope] : table.scopes()) {
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
    const StoreScope* scope = table.scope_of_store(name);
    const Status error = scope != nullptr ? scope->last_error() : Status();
    facts.push_back({name, store_type_name(settings.type),
                     scope != nullptr ? scope->state_name() : "waiting",
                     error.ok() ? "" : error.to_string(), stores.lease_mode(name)});
  }
  return facts;
}

}  // namespace seqd
