// DynamoTables: whether the tables of a store may be leased from: one that another region writes,
// too, may not. Each table is checked, if the user has the right, and again every minute, because a
// region can be added at any time; without the right, or if a service does not know, the table is
// accepted. Loop thread; calls under way outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/store/dynamo/wire/dynamo_client.h"

namespace seqd {

class DynamoTables {
 public:
  explicit DynamoTables(std::shared_ptr<DynamoClient> client) : client_(std::move(client)) {}

  // How long the answer for a table is used, ms.
  static constexpr std::int64_t kBelievedMs = 60'000;

  // OK, STORE_REFUSED, or why the service could not be queried. May answer before it returns. A
  // table that was refused is checked again.
  void check(const std::string& table, const std::function<void(const Status&)>& done);

 private:
  const std::shared_ptr<DynamoClient> client_;
  // Accepted tables, and when they were checked. Not more than the configuration names.
  const std::shared_ptr<std::map<std::string, std::int64_t>> good_ =
      std::make_shared<std::map<std::string, std::int64_t>>();
};

}  // namespace seqd
