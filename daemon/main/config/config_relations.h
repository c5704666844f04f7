// The relations between values of different options. A bound that is written lowers what is not
// written in the same table; two written values that contradict each other are an error that names
// both. Used while one configuration is read; one thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/settings/sequence_settings.h"
#include "daemon/main/config/config_problems.h"
#include "daemon/main/config/config_settings.h"

namespace seqd {

void relate_daemon(const DaemonSettings& daemon, const WrittenKeys& written, Problems& problems);
// Whether one of the paths lies within the other. Textual: the directories may not exist yet.
bool are_nested(const std::string& one, const std::string& other);
// What is kept has to fit the log.
void relate_log_size(Limits& limits, const DaemonSettings& daemon, const WrittenKeys& written,
                     const WrittenKeys& daemon_written, Problems& problems);
void relate_sequence(const std::string& table, SequenceSettings& sequence,
                     const WrittenKeys& written, Problems& problems);

// Whether the option of a sequence says something of a counter, or of leases from it: a register
// has none.
bool is_of_leases(std::string_view key);

// What its mode requires of the table of a sequence, whose store is of that type.
void relate_mode(const std::string& table, const SequenceSettings& sequence, StoreType store,
                 const WrittenKeys& written, Problems& problems);

}  // namespace seqd
