// Whether a field of a collection is unique in all of a sharded cluster. Each shard guards its own
// documents: the same value twice is refused only where the shard key is that field alone, which
// sends both to the same shard.
#pragma once

#include <string>

#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

// OK, also where the server is no mongos, or the collection is not sharded; STORE_REFUSED where two
// documents could get one value of `field`, or where that cannot be read. Blocks; a worker's.
Status check_shard_key(MongoClients& clients, const std::string& collection,
                       const std::string& field);

}  // namespace seqd
