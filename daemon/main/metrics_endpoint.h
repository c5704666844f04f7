// MetricsEndpoint: the metrics of the daemon over HTTP, on the socket and the address that the
// configuration names, if any. Owned by the Daemon; loop thread.
#pragma once

#include <cstddef>

#include "daemon/base/status.h"
#include "daemon/main/config/config_settings.h"
#include "daemon/rpc/metrics/metrics_page.h"
#include "daemon/uv/http_server.h"

namespace seqd {

class MetricsEndpoint {
 public:
  // All of `source` outlives this.
  MetricsEndpoint(EventLoop& loop, EventSink& events, const MetricsSource& source);

  // Listens where the settings say; nothing when they name neither. CONFIG.
  Status start(const DaemonSettings& settings);
  // Ends the answers that are under way, and removes the socket.
  void close() { server_.close(); }

  // How many sequences the metrics name (SequenceRates::show()); 0: no metrics are served.
  static std::size_t sequences_shown(const DaemonSettings& settings);

 private:
  HttpServer server_;
};

}  // namespace seqd
