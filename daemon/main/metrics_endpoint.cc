#include "daemon/main/metrics_endpoint.h"

#include <memory>
#include <string>

namespace seqd {
namespace {

HttpBody respond(const MetricsSource& source, const HttpRequestHead& head) {
  const MetricsFormat format = metrics_format_for(head.accept);
  const auto page = std::make_shared<MetricsPage>(source, format);
  return {std::string(metrics_content_type(format)),
          [page](std::string& out) { return page->more(out); }};
}

}  // namespace

MetricsEndpoint::MetricsEndpoint(EventLoop& loop, EventSink& events, const MetricsSource& source)
    : server_(loop, events, {"/metrics", [source](const HttpRequestHead& head) {
                               return respond(source, head);
                             }}) {}

Status MetricsEndpoint::start(const DaemonSettings& settings) {
  Status listening;
  if (!settings.metrics_socket.empty()) {
    listening =
        server_.listen_at(settings.metrics_socket, static_cast<int>(settings.metrics_socket_mode));
  }
  if (!listening.ok() || settings.metrics_address.empty()) return listening;
  const Result<LoopbackAddress> address = parse_loopback(settings.metrics_address);
  if (!address.ok()) return address.status();
  return server_.listen_on(*address, settings.metrics_address);
}

std::size_t MetricsEndpoint::sequences_shown(const DaemonSettings& settings) {
  const bool off = settings.metrics_socket.empty() && settings.metrics_address.empty();
  return off ? 0 : static_cast<std::size_t>(settings.metrics_sequences);
}

}  // namespace seqd
