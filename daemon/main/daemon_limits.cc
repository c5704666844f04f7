#include "daemon/main/daemon_limits.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "daemon/core/log/state_bounds.h"

namespace seqd {

namespace {

// How many connections may have all the replies waiting that one may have.
constexpr std::uint64_t kBacklogs = 256;

bool has_blocks(const Configuration& configuration) {
  const auto& tables = configuration.sequences;
  return (configuration.daemon.allow_unlisted && configuration.sequence_defaults.settings.blocks) ||
         std::any_of(tables.begin(), tables.end(),
                     [](const auto& table) { return table.second.settings.blocks; });
}

}  // namespace

ServerLimits server_limits(const Configuration& configuration) {
  const Limits& from = configuration.limits;
  ServerLimits limits;
  limits.methods.frame.frame = static_cast<std::uint32_t>(from.max_request_size);
  limits.methods.count = from.max_count;
  limits.methods.pipeline = static_cast<std::uint32_t>(from.max_requests_in_flight);
  limits.methods.blocks = has_blocks(configuration);
  limits.output = static_cast<std::size_t>(from.max_reply_backlog);
  limits.output_total = static_cast<std::size_t>(
      std::min<std::uint64_t>(kBacklogs * limits.output, std::numeric_limits<std::size_t>::max()));
  return limits;
}

ListenerLimits listener_limits(const Configuration& configuration) {
  const Limits& from = configuration.limits;
  ListenerLimits limits;
  limits.connections = static_cast<std::size_t>(from.max_connections);
  limits.times = {from.frame_timeout_ms, from.idle_timeout_ms};
  limits.busy_poll_ms = configuration.daemon.busy_poll_ms;
  return limits;
}

HistoryLimits history_limits(const Configuration& configuration) {
  const DaemonSettings& from = configuration.daemon;
  return {from.history_max_size, from.history_max_age_ms, from.history_callers};
}

TableLimits table_limits(const Configuration& configuration) {
  const Limits& from = configuration.limits;
  TableLimits limits;
  limits.sequences = static_cast<std::size_t>(from.max_sequences);
  limits.replays.clients = static_cast<std::size_t>(from.max_retry_clients);
  limits.replays.remember_ms = from.retry_memory_ms;
  const StateBounds bounds(static_cast<std::uint64_t>(configuration.daemon.state_log_size));
  limits.state_bytes = bounds.sequence_bytes();
  limits.replays.clients = std::min(limits.replays.clients, bounds.clients());
  limits.replays.issues = bounds.issues();
  limits.blocks = std::min(limits.blocks, bounds.blocks());
  return limits;
}

}  // namespace seqd
