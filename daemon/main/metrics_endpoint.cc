#include "daemon/main/metrics_endpoint.h"

#include <memory>
#include <string>
#include <utility>

namespace seqd {
namespace {

HttpBody respond(const MetricsSource& source, const HttpRequestHead& head) {
  const MetricsFormat format = metrics_format_for(head.accept);
  const auto page = std::make_shared<MetricsPage>(source, format);
  return {std::string(metrics_content_type(format)),
          [page](std::string& out) { return page->more(out); }};
}

HttpServer::Site site_of(const MetricsSource& source) {
  return {"/metrics", [source](const HttpRequestHead& head) { return respond(source, head); }};
}

}  // namespace

MetricsEndpoint::MetricsEndpoint(EventLoop& loop, EventSink& events, const MetricsSource& source,
                                 std::function<void(const std::string&)> warn)
    : warn_(std::move(warn)),
      socket_server_(loop, events, site_of(source)),
      address_server_(loop, events, site_of(source)),
      retry_(loop) {}

void MetricsEndpoint::start(const DaemonSettings& settings) {
  socket_ = settings.metrics_socket;
  mode_ = static_cast<int>(settings.metrics_socket_mode);
  address_ = settings.metrics_address;
  listen();
}

void MetricsEndpoint::close() {
  retry_.cancel();
  socket_server_.close();
  address_server_.close();
}

void MetricsEndpoint::listen() {
  const Status of_socket = listen_at_socket();
  const Status of_address = listen_on_address();
  const Status& failed = of_socket.ok() ? of_address : of_socket;
  if (failed.ok()) return;
  if (!std::exchange(told_, true))
    warn_("metrics are not served: " + failed.text() + "; tried again every " +
          std::to_string(kRetryMs / 1'000) + " s, and IDs are issued as usual");
  retry_.start(kRetryMs, [this] { listen(); });
}

Status MetricsEndpoint::listen_at_socket() {
  if (socket_.empty()) return {};
  Status listening = socket_server_.listen_at(socket_, mode_);
  if (listening.ok()) socket_.clear();
  return listening;
}

Status MetricsEndpoint::listen_on_address() {
  if (address_.empty()) return {};
  const Result<LoopbackAddress> address = parse_loopback(address_);
  if (!address.ok()) return address.status();
  Status listening = address_server_.listen_on(*address, address_);
  if (listening.ok()) address_.clear();
  return listening;
}

std::size_t MetricsEndpoint::sequences_shown(const DaemonSettings& settings) {
  const bool off = settings.metrics_socket.empty() && settings.metrics_address.empty();
  return off ? 0 : static_cast<std::size_t>(settings.metrics_sequences);
}

}  // namespace seqd
