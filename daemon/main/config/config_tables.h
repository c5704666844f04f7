// Reads one table of the file into its struct by the table of options. Used while one configuration
// is read; one thread.
#pragma once

#include <string>

#include "daemon/main/config/config_document.h"
#include "daemon/main/config/config_problems.h"
#include "daemon/main/config/options/options.h"

namespace seqd {

// Writes what `table` says into `settings`; what it does not say stays. `name` is the table's full
// name for messages ("limits", `sequence."orders"`).
template <typename Settings>
void read_table(const DocumentTable& table, const std::string& name, Settings& settings,
                WrittenKeys& written, Problems& problems);

// Reports a key that does not exist, with the one that was probably meant.
void report_unknown(const DocumentEntry& entry, const std::string& table_name,
                    const std::vector<std::string_view>& known, Problems& problems);

// `sequence."NAME"`; the name escaped and cut for messages.
std::string sequence_table_name(const std::string& name);

}  // namespace seqd
