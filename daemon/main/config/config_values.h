// Values of a configuration as they would stand in a file: what a dump and the method `config` have
// in common. No secret leaves here. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/main/config/options/options.h"

namespace seqd {

struct EffectiveValue {
  const OptionInfo* option;
  std::string text;
};

// Of the table's options those that say something: no text that is not given, and nothing that
// another option says. For DaemonSettings, Limits and SequenceSettings.
template <typename Settings>
std::vector<EffectiveValue> effective_values(const Settings& settings);
// The same of a store: what belongs to its type. User, password and options of a URI are "***"; a
// URI that does not stand in the configuration is left out.
std::vector<EffectiveValue> effective_values_of_store(StoreSettings store);

}  // namespace seqd
