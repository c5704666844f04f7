#include "daemon/core/table/state_room.h"

#include <string>

#include "daemon/base/assertion.h"
#include "daemon/core/log/state_bounds.h"

namespace seqd {

Status check_state_room(const SequenceBudgets& budgets, std::uint64_t state_log_size) {
  const std::int64_t needed = budgets.state_bytes();
  ASSERT(needed >= 0);
  if (needed <= StateBounds(state_log_size).sequence_bytes()) return {};
  // In KiB, and a little more, so that there is room for another sequence.
  const std::int64_t enough = (needed / 5 + 1) * 8 / 1'024 + 16;
  return {ErrorCode::CONFIG,
          "the sequences in state_dir may come to " + std::to_string(needed) +
              " bytes of the log, and daemon.state_log_size = " + std::to_string(state_log_size) +
              " leaves " + std::to_string(StateBounds(state_log_size).sequence_bytes()) +
              " bytes for them; set state_log_size to " + std::to_string(enough) + "KiB or more"};
}

}  // namespace seqd
