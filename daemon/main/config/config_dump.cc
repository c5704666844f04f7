// A configuration as text for people: the end of config.h.
#include <type_traits>

#include "daemon/main/config/config.h"
#include "daemon/main/config/config_dynamo.h"
#include "daemon/main/config/config_stores.h"
#include "daemon/main/config/options/options.h"
#include "daemon/main/config/sequences/config_patterns.h"
#include "daemon/main/config/sequences/config_progressions.h"

namespace seqd {
namespace {

template <typename Settings>
void dump_table(const std::string& header, const Settings& settings, std::string& out) {
  out.append("\n[").append(header).append("]\n");
  for (const Option<Settings>& option : options<Settings>()) {
    if constexpr (std::is_same_v<Settings, SequenceSettings>) {
      if (said_by_progression(option.key, settings)) continue;
    }
    const OptionValue value = option.read(settings);
    // Text that is not given has no default to be written.
    if (const auto* text = std::get_if<std::string>(&value);
        text != nullptr && text->empty() && option.type != OptionType::users)
      continue;
    out.append(option.key).append(" = ").append(format_option(option, value)).append("\n");
  }
}

// Only what belongs to the store's type, and no secret: the URI stands there only if the file held
// it.
void dump_store(const std::string& name, StoreSettings store, std::string& out) {
  const bool mongodb = store.type == StoreType::mongodb;
  const bool from_elsewhere = !store.uri_file.empty() || !store.uri_credential.empty();
  store.uri = mongodb && !from_elsewhere ? mask_uri(store.uri) : std::string();
  out.append("\n[store.").append(name).append("]\n");
  for (const Option<StoreSettings>& option : options<StoreSettings>()) {
    if (!fits_store_type(option.key, store.type)) continue;
    const OptionValue value = option.read(store);
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && text->empty())
      continue;
    out.append(option.key).append(" = ").append(format_option(option, value)).append("\n");
  }
}

}  // namespace

std::string dump_effective(const Configuration& configuration) {
  std::string out = configuration.file.empty() ? "# the defaults: no file was read\n"
                                               : "# " + configuration.file + "\n";
  dump_table("daemon", configuration.daemon, out);
  dump_table("limits", configuration.limits, out);
  for (const auto& [name, store] : configuration.stores) dump_store(name, store, out);
  dump_table("sequence_defaults", configuration.sequence_defaults.settings, out);
  for (const auto& [name, sequence] : configuration.sequences)
    dump_table("sequence.\"" + name + "\"", sequence.settings, out);
  return out;
}

std::string summarize(const Configuration& configuration) {
  std::string out = configuration.file.empty()
                        ? "no file was read: all options have their defaults\n"
                        : "file: " + configuration.file + "\n";
  out.append("socket: " + configuration.daemon.socket + "\n");
  out.append("state: " + configuration.daemon.state_dir + ", witness: " +
             (configuration.daemon.witness_dir.empty() ? "in memory that seqd finds"
                                                       : configuration.daemon.witness_dir) +
             "\n");
  for (const auto& [name, store] : configuration.stores) {
    out.append("store " + name + ": ");
    if (store.type == StoreType::sqlite) {
      out.append("sqlite " + store.path + "\n");
    } else if (store.type == StoreType::dynamodb) {
      out.append("dynamodb " + endpoint_of(dynamo_options(store)) + ", region " + store.region +
                 "\n");
    } else {
      const std::string where = store.uri.empty() ? "URI not read" : mask_uri(store.uri);
      out.append("mongodb " + where + ", database " + store.database + "\n");
    }
  }
  std::size_t patterns = 0;
  for (const auto& [name, sequence] : configuration.sequences) patterns += is_pattern(name) ? 1 : 0;
  out.append("sequences: " + std::to_string(configuration.sequences.size() - patterns) +
             " by name, " + std::to_string(patterns) + " by pattern, others are " +
             (configuration.daemon.allow_unlisted ? "created when asked for\n" : "refused\n"));
  return out;
}

}  // namespace seqd
