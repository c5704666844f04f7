// Whether a name is that of a real collection. A time-series collection takes the same _id any
// number of times; a view is another collection's. Function; blocks, a worker's.
#pragma once

#include <string>

#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

// OK, also where there is nothing of that name yet; STORE_REFUSED where it is anything else, or
// where that cannot be read.
Status check_is_collection(MongoClients& clients, const std::string& collection);

}  // namespace seqd
