// HttpProxy: stands between a DynamoDB store and its service on a port of loopback, passes requests
// on, and does to chosen ones what networks, balancers and services do to them. A thread of its own
// for every connection; the words may be called from any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "tests/adapters/loopback_server.h"

namespace seqd::testing {

struct HttpFault {
  enum class Kind {
    none,
    lose_reply,    // passed on and applied; the connection is closed instead of answering
    lose_request,  // closed without passing it on
    reply_late,    // passed on and applied; never answered while the connection lives
    hold_request,  // not passed on and not answered, until release()
    twice,         // passed on twice; the second answer is given
    cut_reply,     // half of the answer, and the connection is closed
    say,           // not passed on; answered with `status` and `body`
    say_applied,   // passed on and applied; answered with `status` and `body`
  };
  Kind kind = Kind::none;
  int status = 0;
  std::string body;
};

// The body of a refusal, as the service writes it.
std::string dynamo_error(const std::string& type, const std::string& message);

class HttpProxy {
 public:
  // `upstream`: "http://127.0.0.1:PORT".
  explicit HttpProxy(const std::string& upstream);
  HttpProxy(const HttpProxy&) = delete;
  HttpProxy& operator=(const HttpProxy&) = delete;

  std::string endpoint() const;
  // What happens to the next requests of this operation ("UpdateItem"), in turn; then no fault.
  void plan(const std::string& operation, std::vector<HttpFault> faults);
  // Passes on what is held, and waits until it was answered by the service.
  void release();
  // How many requests of the operation have come.
  int seen(const std::string& operation);
  void wait_until_seen(const std::string& operation, int count);

 private:
  struct Planned {
    std::string operation;
    HttpFault fault;
  };

  void serve(int client);
  // False: the connection is to be closed.
  bool answer(int client, const std::string& request);
  HttpFault fault_of(const std::string& operation);
  std::string pass_on(const std::string& request);
  void hold(int client, const std::string& request);

  const int upstream_port_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Planned> planned_;
  std::vector<std::string> seen_;
  std::list<std::string> held_;
  LoopbackServer server_;
};

}  // namespace seqd::testing
