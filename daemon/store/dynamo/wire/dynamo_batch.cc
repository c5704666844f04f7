#include "daemon/store/dynamo/wire/dynamo_batch.h"

#include <algorithm>
#include <utility>

namespace seqd {
namespace {

struct Reading {
  std::shared_ptr<DynamoClient> client;
  DynamoKeys keys;
  std::function<void(Result<DynamoItems>)> done;
  DynamoItems found;
  std::size_t at = 0;
  int conflicts = 0;
};

void read_some(const std::shared_ptr<Reading>& reading) {
  const std::vector<std::string>& all = reading->keys.keys;
  if (reading->at == all.size()) return reading->done(std::move(reading->found));
  const std::size_t end = std::min(reading->at + kMostInTransaction, all.size());
  DynamoKeys some{reading->keys.table, reading->keys.key_field, {}};
  for (std::size_t at = reading->at; at < end; ++at) some.keys.push_back(all[at]);
  reading->client->read_together(some, [reading, end](DynamoAnswer answer) {
    if (is_conflict(answer) && ++reading->conflicts <= kMostConflicts) return read_some(reading);
    if (answer.kind != DynamoAnswer::Kind::done) return reading->done(std::move(answer.error));
    for (std::size_t at = reading->at; at < end; ++at) {
      auto& item = answer.items[at - reading->at];
      if (item) reading->found.emplace(reading->keys.keys[at], std::move(*item));
    }
    reading->at = end;
    read_some(reading);
  });
}

}  // namespace

void read_all(const std::shared_ptr<DynamoClient>& client, const DynamoKeys& keys,
              std::function<void(Result<DynamoItems>)> done) {
  auto reading = std::make_shared<Reading>();
  reading->client = client;
  reading->keys = keys;
  reading->done = std::move(done);
  read_some(reading);
}

bool is_conflict(const DynamoAnswer& answer) {
  if (answer.kind != DynamoAnswer::Kind::mismatch) return false;
  bool any = false;
  for (const DynamoReason& reason : answer.reasons) {
    if (reason.code == "None") continue;
    if (reason.code != "TransactionConflict") return false;
    any = true;
  }
  return any;
}

}  // namespace seqd
