#include "daemon/store/mongo_advance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/store/counter_value.h"
#include "daemon/store/mongo_binding.h"
#include "daemon/store/mongo_seed.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // 1 is the rule; others may make or delete the document

// Raises the document if it still says what it was read to say.
MongoWrite raising(const AdvanceRequest& request, Meaning meaning) {
  MongoWrite write;
  write.collection = request.binding.collection;
  write.filter = key_filter(request.binding);
  require_meaning(write.filter, meaning, true);
  write.update.add("$max", Document().add(request.binding.counter_field,
                                          value_of(request.next_id - 1, meaning)));
  return write;
}

}  // namespace

Result<std::int64_t> advance_mongo_counter(MongoClients& clients, const AdvanceRequest& request) {
  if (Status status = check_key_index(clients, request.binding); !status.ok()) return status;
  Status lost(ErrorCode::UNAVAILABLE,
              fmt::format("{}: others changed the counter at every attempt; try again",
                          place_of(clients, request.binding)));
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto reading = read_mongo_counter(clients, request.binding);
    if (!reading.ok()) return reading.status();
    if (reading->exists && reading->next_id >= request.next_id) return reading->next_id;
    std::int64_t next_id = request.next_id;
    if (!reading->exists) {
      // Who wants it higher does not want it below what is used already.
      auto first = first_of_new(clients, request.binding);
      if (!first.ok()) return first.status();
      if (!request.binding.seed_collection.empty()) next_id = std::max(next_id, *first);
    }
    const MongoWriteAnswer answer = clients.find_and_modify(
        reading->exists ? raising(request, reading->meaning) : creation(request.binding, next_id));
    // Lost against somebody who made the document at the same moment: it is read again.
    if (answer.server_code == kMongoDuplicateKey) {
      lost = answer.error;
    } else if (answer.kind != MongoWriteAnswer::Kind::done) {
      return answer.error;
    }
  }
  return lost;
}

}  // namespace seqd
