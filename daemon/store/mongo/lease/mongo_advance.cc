#include "daemon/store/mongo/lease/mongo_advance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/store/counter_value.h"
#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/documents/mongo_seed.h"
#include "daemon/store/mongo/lease/mongo_parked.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // 1 is the rule; others may make or delete the document

// Raises the document if it still has the value that was read. A counter that is high enough is not
// moved: a return may have lowered it since, and then it is read again.
MongoWrite raising(const AdvanceRequest& request, std::int64_t next_id,
                   const CounterReading& reading) {
  const std::int64_t value = value_of(next_id - 1, reading.meaning);
  MongoWrite write;
  write.collection = request.binding.collection;
  write.filter = key_filter(request.binding);
  require_meaning(write.filter, request.binding, reading.meaning, true);
  Document highest;
  if (reading.next_id < next_id) {
    highest.add(request.binding.counter_field, value);
  } else {
    write.filter.add(request.binding.counter_field, number_at_least(value));
  }
  if (request.withdraw) highest.add(mongo_floor_of(request.binding), next_id);
  write.update.add("$max", highest);
  write.returned_field = request.binding.counter_field;
  return write;
}

// The next ID that the counter must have at least, and its new floor. A floor is never set below
// the present next ID; a counter that does not exist begins above its seed.
Result<std::int64_t> target(MongoClients& clients, const AdvanceRequest& request,
                            const CounterReading& reading) {
  const std::int64_t wanted = std::max(request.next_id, reading.floor);
  if (reading.exists) return request.withdraw ? std::max(wanted, reading.next_id) : wanted;
  if (request.binding.seed_collection.empty()) return wanted;
  const Result<std::int64_t> first = first_of_new(clients, request.binding);
  return first.ok() ? Result<std::int64_t>(std::max(wanted, *first)) : first;
}

}  // namespace

Result<std::int64_t> advance_mongo_counter(MongoClients& clients, const AdvanceRequest& request) {
  if (Status status = check_unique_key(clients, request.binding); !status.ok()) return status;
  Status lost(ErrorCode::UNAVAILABLE,
              fmt::format("{}: others changed the counter at every attempt; try again",
                          place_of(clients, request.binding)));
  bool floor_is_set = !request.withdraw;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto reading = read_mongo_counter(clients, request.binding);
    if (!reading.ok()) return reading.status();
    if (reading->exists && reading->next_id >= request.next_id &&
        reading->next_id >= reading->floor && floor_is_set)
      return reading->next_id;
    auto wanted = target(clients, request, *reading);
    if (!wanted.ok()) return wanted.status();
    const MongoWriteAnswer answer = clients.find_and_modify(
        reading->exists ? raising(request, *wanted, *reading) : creation(request.binding, *wanted));
    // Another writer made the document at the same moment: it is read again.
    if (answer.server_code == kMongoDuplicateKey) {
      lost = answer.error;
    } else if (answer.kind != MongoWriteAnswer::Kind::done) {
      return answer.error;
    } else if (request.withdraw && reading->exists && answer.document) {
      floor_is_set = true;
      Status dropped = drop_parked(clients, request.binding, *wanted);
      if (!dropped.ok()) return dropped;
    }
  }
  return lost;
}

}  // namespace seqd
