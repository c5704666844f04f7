// The configured limits, converted for each part of the daemon.
#pragma once

#include "daemon/core/table/sequence_table.h"
#include "daemon/main/config/config.h"
#include "daemon/main/history.h"
#include "daemon/rpc/server.h"
#include "daemon/uv/listener.h"

namespace seqd {

ServerLimits server_limits(const Configuration& configuration);
ListenerLimits listener_limits(const Configuration& configuration);
HistoryLimits history_limits(const Configuration& configuration);
// Capped by the room in the log.
TableLimits table_limits(const Configuration& configuration);

}  // namespace seqd
