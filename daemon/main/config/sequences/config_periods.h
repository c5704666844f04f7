// The periods of a sequence, from its options: the rule, and whether key, format and store go with
// it. Used while one configuration is read; one thread.
#pragma once

#include <string>

#include "daemon/main/config/config.h"
#include "daemon/main/config/config_problems.h"

namespace seqd {

// Fills settings.periods.rule of the table `table`, which begins in `line`; null where there are no
// periods, or a problem. Called before the format is made, which it chooses where none is written.
void make_periods(const std::string& table, int line, const WrittenKeys& written,
                  const Configuration& configuration, SequenceSettings& settings,
                  Problems& problems);

}  // namespace seqd
