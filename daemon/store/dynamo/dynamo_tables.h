// DynamoTables: whether the tables of a store may be leased from: one that another region writes,
// too, may not. Each is asked for once, where the right is there; without it, or where a service
// does not know, nothing is said against a table. Loop thread; calls under way outlive it.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "daemon/store/dynamo/dynamo_client.h"

namespace seqd {

class DynamoTables {
 public:
  explicit DynamoTables(std::shared_ptr<DynamoClient> client) : client_(std::move(client)) {}

  // OK, or STORE_REFUSED. May answer before it returns. A table that was refused is asked for
  // again.
  void check(const std::string& table, const std::function<void(const Status&)>& done);

 private:
  const std::shared_ptr<DynamoClient> client_;
  // Not more than the configuration names.
  const std::shared_ptr<std::set<std::string>> good_ = std::make_shared<std::set<std::string>>();
};

}  // namespace seqd
