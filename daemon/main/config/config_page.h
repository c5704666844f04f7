// What is in force, and where it is from, for the method `config`. No secret leaves here. Reads the
// configuration only; loop thread (find() keeps a cache).
#pragma once

#include <cstddef>
#include <string>

#include "daemon/main/config/config.h"
#include "daemon/rpc/control.h"

namespace seqd {

// So many tables of sequences are in a page at most.
inline constexpr std::size_t kConfigTablesAPage = 100;

// The first page has the tables of the daemon, its limits, its stores and [sequence_defaults] in
// full. Tables of sequences have only what is written in them, and what a restart would change;
// they follow in the order of their names, those behind `after`.
ConfigPage config_page(const Configuration& configuration, const std::string& after);

// All options of one sequence (also of one that was never used), as the table that it falls under.
// NO_SEQUENCE.
Result<ConfigPage> config_of_sequence(const Configuration& configuration, const std::string& name);

// The one or the other.
Result<ConfigPage> answer_config(const Configuration& configuration,
                                 const ConfigQuestion& question);

}  // namespace seqd
