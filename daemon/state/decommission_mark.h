// DecommissionMark: the file by which a state directory says that its daemon is being
// decommissioned, and the daemon's identity in its stores. It exists as a whole or not at all. It
// is written before the first store removes its records, and is removed last. Blocking; the log's
// owner calls.
#pragma once

#include <optional>
#include <vector>

#include "daemon/base/files/files.h"
#include "daemon/core/upkeep/decommission.h"

namespace seqd {

constexpr const char* decommission_mark_name = "retiring";
constexpr const char* decommission_draft_name = "retiring.new";  // what a kill may leave

// Returns OK when the mark is on the medium.
Status write_decommission_mark(Directory& directory, const std::vector<RetiredInstance>& instances);

// None where there is no mark. STATE_CORRUPT when it is none that seqd wrote.
Result<std::optional<std::vector<RetiredInstance>>> read_decommission_mark(Directory& directory);

}  // namespace seqd
