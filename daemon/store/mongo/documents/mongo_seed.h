// Where a counter of MongoDB begins that does not exist yet: at first_id, or above the highest
// number that another collection holds already. Worker threads.
#pragma once

#include <cstdint>

#include "daemon/base/status.h"
#include "daemon/core/words/counter_binding.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

// The first ID of the counter. SEQ_TYPE when the highest value of the field is no integer, or one
// above which there are no IDs: nothing is to be created then.
Result<std::int64_t> first_of_new(MongoClients& clients, const CounterBinding& binding);

}  // namespace seqd
