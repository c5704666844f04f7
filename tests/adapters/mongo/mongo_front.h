// MongoFront: a port in front of the primary of a replica set, or of a server alone, that passes
// everything on, but ends connections at chosen commands or leaves a field out of every command. A
// thread of its own for every connection; the words may be called from any thread.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tests/adapters/loopback_server.h"
#include "tests/adapters/mongo/mongo_server.h"

namespace seqd::testing {

// Where writes to `server` go at present, and how a URI names its user ("user:password@", or "").
int writable_port(MongoServer& server);
std::string user_in(const std::string& uri);

class MongoFront {
 public:
  explicit MongoFront(MongoServer& server);
  MongoFront(const MongoFront&) = delete;
  MongoFront& operator=(const MongoFront&) = delete;

  // To the front, as the user of the server's URI, or as another one.
  std::string uri() const { return uri(user_); }
  std::string uri(const std::string& user) const;
  // The next `times` commands with that field (their name is one, too) end their connection, and
  // are not passed on.
  void break_at(const std::string& field, int times);
  // From now on commands are passed on without it.
  void leave_out(const std::string& field);
  // How many commands with that field were met by break_at() or leave_out().
  int met(const std::string& field);

 private:
  void serve(int client);
  // False: the connection ends here.
  bool pass(std::string& request);

  const int upstream_;
  const std::string user_;
  std::mutex mutex_;  // guards the next three
  std::map<std::string, int> breaks_;
  std::set<std::string> left_out_;
  std::map<std::string, int> met_;
  LoopbackServer server_;
};

}  // namespace seqd::testing
