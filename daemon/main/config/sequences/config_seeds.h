// What the options seed_collection and seed_field of a sequence need: a store that can be queried,
// and IDs that are stored unchanged. Used while one configuration is read; one thread.
#pragma once

#include <string>

#include "daemon/main/config/config.h"
#include "daemon/main/config/config_problems.h"

namespace seqd {

// Of the table `table`, which begins in `line`; after its store and its progression are settled.
void relate_seed(const std::string& table, int line, const WrittenKeys& written,
                 const SequenceSettings& settings, const Configuration& configuration,
                 Problems& problems);

}  // namespace seqd
