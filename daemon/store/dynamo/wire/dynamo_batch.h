// Reads any number of items of one table, in transactions: a strongly consistent read of an item
// may still show what was before a transaction that is being applied, while another item shows what
// is behind it. Read together, each shows what was answered or seen elsewhere before. Loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/store/dynamo/wire/dynamo_client.h"

namespace seqd {

using DynamoItems = std::map<std::string, DynamoItem>;  // by their keys

// As many transactions as are needed, one after another; repeated while others write to an item of
// it. Without keys it answers before it returns.
void read_all(const std::shared_ptr<DynamoClient>& client, const DynamoKeys& keys,
              std::function<void(Result<DynamoItems>)> done);

// Whether a transaction was cancelled for nothing but others that wrote to its items meanwhile: so
// the same one is sent again, at once, as the answer takes as long as the other one; but not for
// ever.
bool is_conflict(const DynamoAnswer& answer);
inline constexpr int kMostConflicts = 8;

}  // namespace seqd
