// NamedSequence: one of the sequences that the configuration has a table of their own for. A value;
// the settings are valid until the configuration is reloaded.
#pragma once

#include <string>

#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

struct NamedSequence {
  std::string name;
  const SequenceSettings* settings = nullptr;  // with the key as it is written; empty: the name
};

}  // namespace seqd
