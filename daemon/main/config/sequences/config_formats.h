// What makes readable IDs out of a sequence's options: the template, the time zone and the key of
// the scramble. A key is a secret: no message holds any of it. Used while one configuration is
// read; one thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/main/config/config.h"
#include "daemon/main/config/config_problems.h"

namespace seqd {

// Whether a table says anything about it; else the format is that of the defaults.
bool writes_format(const WrittenKeys& written);

// Fills settings.text.compiled of the table `table`, which begins in `line`. It stays null where
// there was a problem, or the key is a credential that is not looked at (need_credentials).
void make_format(const std::string& table, int line, const WrittenKeys& written,
                 const ConfigurationRequest& request, SequenceSettings& settings,
                 std::vector<std::string>& warnings, Problems& problems);

}  // namespace seqd
