// Reads of any number of documents, for registers. Functions; any thread. Blocking.
#pragma once

#include <string>
#include <vector>

#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

// What a majority has, as the primary knows it; a primary that was replaced without knowing it may
// say what was.
Result<std::vector<Document>> read_of_majority(MongoClients& clients, const std::string& collection,
                                               const Document& pipeline);

// The same, but never what was: linearizable, so the server writes behind it, as the primary that
// it still is. A server alone has no majority: there it is what is in the journal.
Result<std::vector<Document>> read_newest(MongoClients& clients, const std::string& collection,
                                          const Document& filter);

}  // namespace seqd
