// UvHttpClient: libcurl's multi interface on the loop, so that a web service is queried without a
// thread. libcurl names the sockets and the time that it waits for; libuv waits. Owned by the owner
// of the store; loop thread.
//
// Every transfer has an end: time, size of the answer and connections are bounded; redirects,
// proxies and protocols other than http and https are off. The only files that know libcurl.
#pragma once

#include <curl/curl.h>
#include <uv.h>

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/base/http.h"
#include "daemon/uv/event_loop.h"

namespace seqd {

class UvHttpClient final : public HttpClient {
 public:
  static constexpr std::size_t kMostReply = 4 << 20;  // bytes of one answer, and of its headers

  // `connections`: at most so many at a time; more requests wait for one, within their time.
  // `authorities`: the file (PEM) with those that may have signed a server's certificate; empty:
  // the system's.
  UvHttpClient(EventLoop& loop, int connections, std::string authorities = {});
  // Requests under way are dropped, and so is every `done`.
  ~UvHttpClient() override;
  UvHttpClient(const UvHttpClient&) = delete;
  UvHttpClient& operator=(const UvHttpClient&) = delete;

  void send(HttpRequest request, std::function<void(HttpReply)> done) override;
  // No request is under way.
  bool quiet() const { return transfers_.empty(); }

 private:
  struct Transfer;
  struct Watch;

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* client, void* watch);
  static int on_time(CURLM* multi, long delay_ms, void* client);
  void watch(curl_socket_t socket, int what, Watch* watch);
  void act(curl_socket_t socket, int events);
  void finish(CURL* easy, CURLcode code);

  uv_loop_t* const loop_;
  const std::string authorities_;
  CURLM* const multi_;
  uv_timer_t* const timer_;  // closes after us
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> transfers_;
};

}  // namespace seqd
