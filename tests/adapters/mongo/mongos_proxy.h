// MongosProxy: a mongos in front of a real replica set, as far as the driver can tell: it says of
// itself that it is one, passes every command on to the set's primary, and answers chosen ones,
// which were carried out, as a mongos does that lost the connection to its shard. A thread of its
// own for every connection; the words may be called from any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "daemon/store/mongo/driver/mongo_values.h"
#include "tests/adapters/loopback_server.h"
#include "tests/adapters/mongo/mongo_server.h"

namespace seqd::testing {

class MongosProxy {
 public:
  // What it says it is: a mongos, or what it is in front of.
  enum class Says { mongos, itself };

  // In front of the primary of the replica set `server` is on; or of a server alone, which it says
  // it is then.
  explicit MongosProxy(MongoServer& server, Says says = Says::mongos);
  MongosProxy(const MongosProxy&) = delete;
  MongosProxy& operator=(const MongosProxy&) = delete;

  std::string uri() const;
  // The next `times` commands of that name are carried out, and answered with `reply` (extended
  // JSON) instead of what the set answered.
  void answer(const std::string& command, int times, const std::string& reply);
  // The same of commands that are not carried out.
  void refuse(const std::string& command, int times, const std::string& reply);
  // The same, once, of the command behind those.
  void refuse_next(const std::string& command, const std::string& reply);
  // How many commands of that name have come.
  int seen(const std::string& command);

 private:
  struct Answer {
    int times = 0;
    std::string reply;
    bool carried_out = true;
    std::string next;  // the reply to one more that is not carried out; empty: none
  };

  void serve(int client);
  bool is_carried_out(const std::string& command);
  // What the driver hears instead of `reply`, the document the set answered `command` with.
  Document judged(const std::string& command, const Document& reply);

  const int upstream_;
  const std::string user_;
  const bool says_mongos_;
  std::mutex mutex_;  // guards what follows
  std::map<std::string, Answer> answers_;
  std::map<std::string, int> seen_;
  LoopbackServer server_;
};

}  // namespace seqd::testing
