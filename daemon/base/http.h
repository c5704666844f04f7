// HttpClient: sends a request to a web service, once, and brings the answer. It knows no service.
// Loop thread: every request is answered exactly once, never before send() returned, unless the
// client is destroyed before.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace seqd {

struct HttpRequest {
  std::string method = "POST";       // or GET, which has no body, or PUT
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  std::int64_t timeout_ms = 0;  // from the call to the last byte of the answer
};

struct HttpReply {
  int status = 0;    // 0: there is no answer, and `error` says why
  bool sent = true;  // false: no byte of the request left, so it was certainly not applied
  std::string body;  // of the answer, whole
  std::string error;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  virtual void send(HttpRequest request, std::function<void(HttpReply)> done) = 0;
};

}  // namespace seqd
