// advance_mongo_counter(): raises a counter document with $max, which the server applies to the
// present number: old code and leases at the same time are not disturbed, and a request that
// arrives twice or late changes nothing. Its floor is raised in the same step, from when on no
// range below it is returned; those that are parked are then removed. Blocking; thread-safe as far
// as MongoClients is.
#pragma once

#include <cstdint>

#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

// The counter's next ID afterwards; see LeaseStore::advance.
Result<std::int64_t> advance_mongo_counter(MongoClients& clients, const AdvanceRequest& request);

}  // namespace seqd
