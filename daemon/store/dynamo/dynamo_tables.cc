#include "daemon/store/dynamo/dynamo_tables.h"

namespace seqd {

void DynamoTables::check(const std::string& table, const std::function<void(const Status&)>& done) {
  if (client_->takes_global_tables()) return done({});
  if (Status read = client_->read_as_global(table); !read.ok()) return done(read);
  const std::int64_t now_ms = client_->monotonic_ms();
  const auto known = good_->find(table);
  const bool was_good = known != good_->end();
  if (was_good && now_ms - known->second <= kBelievedMs) return done({});
  // A lease does not wait for the check of a table that was good: the answer may take long, and the
  // service adds no region while it does not answer.
  if (was_good) known->second = now_ms;
  client_->describe(
      table, [client = client_, good = good_, table, now_ms,
              answered = was_good ? [](const Status&) {} : done](const DynamoAnswer& answer) {
        if (!answer.other_regions.empty()) {
          good->erase(table);
          return answered({ErrorCode::STORE_REFUSED, client->place_of_table(table) +
                                                         " has replicas in " +
                                                         answer.other_regions + kGlobalTable});
        }
        const bool said = answer.kind == DynamoAnswer::Kind::done || answer.cannot_be_asked;
        if (said) (*good)[table] = now_ms;
        answered(said ? Status() : answer.error);
      });
  if (was_good) done({});
}

}  // namespace seqd
