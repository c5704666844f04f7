#include "daemon/store/dynamo/dynamo_tables.h"

namespace seqd {

void DynamoTables::check(const std::string& table, const std::function<void(const Status&)>& done) {
  if (client_->takes_global_tables() || good_->contains(table)) return done({});
  client_->describe(table, [client = client_, good = good_, table,
                            done](const DynamoAnswer& answer) {
    if (!answer.other_regions.empty())
      return done({ErrorCode::STORE_REFUSED, client->place_of_table(table) + " has replicas in " +
                                                 answer.other_regions + kGlobalTable});
    // A service that is away, or busy, is asked again. What follows fails as well, or is good.
    if (answer.kind == DynamoAnswer::Kind::done || answer.denied) good->insert(table);
    done({});
  });
}

}  // namespace seqd
