// MetricsEndpoint: the metrics of the daemon over HTTP, on the socket and the address that the
// configuration names, if any. No ID depends on it: a port that another program uses (any user may
// take one) is reported in the journal and tried again. Owned by the Daemon; loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "daemon/base/one_shot.h"
#include "daemon/base/status.h"
#include "daemon/main/config/config_settings.h"
#include "daemon/rpc/metrics/metrics_page.h"
#include "daemon/uv/http/http_server.h"

namespace seqd {

class MetricsEndpoint {
 public:
  // All of `source` outlives this. `warn` is called once for the socket and once for the address if
  // it cannot listen there.
  MetricsEndpoint(EventLoop& loop, EventSink& events, const MetricsSource& source,
                  std::function<void(const std::string&)> warn);

  // Listens where the settings say, at once or as soon as that can be done; nothing when they name
  // neither. Once.
  void start(const DaemonSettings& settings);
  // Ends the answers that are under way, and removes the socket.
  void close();

  // How many sequences the metrics name (SequenceRates::show()); 0: no metrics are served.
  static std::size_t sequences_shown(const DaemonSettings& settings);

 private:
  static constexpr std::int64_t kRetryMs = 5'000;

  // One each: any user may take all places of the address, and none of the socket's.
  struct Place {
    const char* option;
    HttpServer server;
    std::string wanted;   // where it does not listen yet
    bool warned = false;  // that it does not listen
  };

  void listen();
  // Whether it is to be tried again.
  bool note(Place& place, const Status& listening);
  Status listen_at_socket();
  Status listen_on_address();

  const std::function<void(const std::string&)> warn_;
  Place socket_;
  Place address_;
  int mode_ = 0;  // of the socket
  OneShot retry_;
};

}  // namespace seqd
