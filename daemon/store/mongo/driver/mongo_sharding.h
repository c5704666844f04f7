// Whether the _id of a collection are unique in all of a sharded cluster. Each shard guards its
// own: the same _id twice is refused only where the shard key is _id alone, which sends both to the
// same shard.
#pragma once

#include <string>

#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

// OK, also where the server is no mongos; STORE_REFUSED where two documents could get one _id, or
// where that cannot be read. Blocks; a worker's.
Status check_unique_id(MongoClients& clients, const std::string& collection);

}  // namespace seqd
