// A configuration as text for people: the end of config.h.
#include "daemon/main/config/config.h"
#include "daemon/main/config/config_dynamo.h"
#include "daemon/main/config/config_stores.h"
#include "daemon/main/config/config_values.h"
#include "daemon/main/config/sequences/config_patterns.h"

namespace seqd {
namespace {

void dump_values(const std::string& header, const std::vector<EffectiveValue>& values,
                 std::string& out) {
  out.append("\n[").append(header).append("]\n");
  for (const EffectiveValue& value : values)
    out.append(value.option->key).append(" = ").append(value.text).append("\n");
}

std::string describe(const StoreSettings& store) {
  const std::string type = store_type_name(store.type);
  switch (store.type) {
    case StoreType::sqlite:
      return type + " " + store.path;
    case StoreType::mongodb:
      return type + " " + (store.uri.empty() ? "URI not read" : mask_uri(store.uri)) +
             ", database " + store.database;
    case StoreType::dynamodb:
      return type + " " + endpoint_of(dynamo_options(store)) + ", region " + store.region;
  }
  return type;
}

}  // namespace

std::string dump_effective(const Configuration& configuration) {
  std::string out = configuration.file.empty() ? "# the defaults: no file was read\n"
                                               : "# " + configuration.file + "\n";
  dump_values("daemon", effective_values(configuration.daemon), out);
  dump_values("limits", effective_values(configuration.limits), out);
  for (const auto& [name, store] : configuration.stores)
    dump_values("store." + name, effective_values_of_store(store), out);
  dump_values("sequence_defaults", effective_values(configuration.sequence_defaults.settings), out);
  for (const auto& [name, sequence] : configuration.sequences)
    dump_values("sequence.\"" + name + "\"", effective_values(sequence.settings), out);
  return out;
}

std::string summarize(const Configuration& configuration) {
  std::string out = configuration.file.empty()
                        ? "no file was read: all options have their defaults\n"
                        : "file: " + configuration.file + "\n";
  out.append("socket: " + configuration.daemon.socket + "\n");
  out.append("state: " + configuration.daemon.state_dir + ", witness: " +
             (configuration.daemon.witness_dir.empty() ? "in memory that seqd selects"
                                                       : configuration.daemon.witness_dir) +
             "\n");
  if (!configuration.daemon.metrics_address.empty())
    out.append("metrics: http://" + configuration.daemon.metrics_address + "/metrics\n");
  for (const auto& [name, store] : configuration.stores)
    out.append("store " + name + ": " + describe(store) + "\n");
  std::size_t patterns = 0;
  for (const auto& [name, sequence] : configuration.sequences) patterns += is_pattern(name) ? 1 : 0;
  out.append("sequences: " + std::to_string(configuration.sequences.size() - patterns) +
             " by name, " + std::to_string(patterns) + " by pattern, others are " +
             (configuration.daemon.allow_unlisted ? "created when used\n" : "refused\n"));
  return out;
}

}  // namespace seqd
