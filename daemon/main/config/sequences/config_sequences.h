// The tables [sequence_defaults] and [sequence."NAME"]. Used while one configuration is read; one
// thread.
#pragma once

#include "daemon/main/config/config.h"
#include "daemon/main/config/config_document.h"
#include "daemon/main/config/config_problems.h"

namespace seqd {

inline constexpr std::size_t kMaxPatterns = 256;

// Either table may be null. configuration.daemon, .limits and .stores are read already.
void read_sequences(const DocumentEntry* defaults, const DocumentEntry* sequences,
                    const ConfigurationRequest& request, Configuration& configuration,
                    Problems& problems);

}  // namespace seqd
