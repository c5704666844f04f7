// What has to be there before a number is written: the collection of the registers with its unique
// index, and the mark of the register's name among the counters. Functions; any thread. Blocking.
#pragma once

#include "daemon/core/registers/register_store.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

// OK where a number and a key are unique to the byte, in all of a sharded cluster; the index is
// made for a collection without documents. STORE_REFUSED: it was dropped since, or is another one,
// so nothing may be written.
Status check_register_indexes(MongoClients& clients);

// Before the first number of a register, in its period: marks the counter of that name, so that no
// version leases from it. The mark has the first number, too: hosts that are configured with
// different ones would leave a hole. WRONG_MODE: there is a counter already; CONFIG: the first
// number is another one.
Status claim_register_name(MongoClients& clients, const RegisterPlace& place);

}  // namespace seqd
