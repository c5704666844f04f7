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
      socket_{"metrics_socket", {loop, events, site_of(source)}, {}},
      address_{"metrics_address", {loop, events, site_of(source)}, {}},
      retry_(loop) {}

void MetricsEndpoint::start(const DaemonSettings& settings) {
  socket_.wanted = settings.metrics_socket;
  mode_ = static_cast<int>(settings.metrics_socket_mode);
  address_.wanted = settings.metrics_address;
  listen();
}

void MetricsEndpoint::close() {
  retry_.cancel();
  socket_.server.close();
  address_.server.close();
}

void MetricsEndpoint::listen() {
  const bool socket_again = note(socket_, listen_at_socket());
  const bool address_again = note(address_, listen_on_address());
  if (socket_again || address_again) retry_.start(kRetryMs, [this] { listen(); });
}

bool MetricsEndpoint::note(Place& place, const Status& listening) {
  if (listening.ok()) {
    place.wanted.clear();
    return false;
  }
  if (!std::exchange(place.warned, true))
    warn_(std::string(place.option) + " serves no metrics: " + listening.text() +
          "; tried again every " + std::to_string(kRetryMs / 1'000) +
          " s, and IDs are issued as usual");
  return true;
}

Status MetricsEndpoint::listen_at_socket() {
  if (socket_.wanted.empty()) return {};
  return socket_.server.listen_at(socket_.wanted, mode_);
}

Status MetricsEndpoint::listen_on_address() {
  if (address_.wanted.empty()) return {};
  const Result<LoopbackAddress> address = parse_loopback(address_.wanted);
  if (!address.ok()) return address.status();
  return address_.server.listen_on(*address, address_.wanted);
}

std::size_t MetricsEndpoint::sequences_shown(const DaemonSettings& settings) {
  const bool off = settings.metrics_socket.empty() && settings.metrics_address.empty();
  return off ? 0 : static_cast<std::size_t>(settings.metrics_sequences);
}

}  // namespace seqd
