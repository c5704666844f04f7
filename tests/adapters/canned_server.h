// CannedServer: an HTTP server on a port of loopback that answers every request with the next of
// the replies it was given, byte for byte. A thread of its own; the words may be called from any.
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace seqd::testing {

class CannedServer {
 public:
  // What follows a reply: the next request (after an empty one the end of the connection), its end,
  // or nothing ever.
  enum class Then { serve, close, wait };

  explicit CannedServer(std::vector<std::string> replies, Then then = Then::serve);
  ~CannedServer();
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  std::string url() const;
  std::vector<std::string> requests();
  int connections();

 private:
  void run();
  // False: the connection is at its end.
  bool serve(int client);

  const std::vector<std::string> replies_;
  const Then then_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  int port_ = 0;
  std::mutex mutex_;  // guards requests_ and connections_
  std::vector<std::string> requests_;
  int connections_ = 0;
  std::thread thread_;
};

}  // namespace seqd::testing
