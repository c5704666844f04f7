#include "daemon/store/mongo_advance.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/store/counter_value.h"
#include "daemon/store/mongo_binding.h"

namespace seqd {
namespace {

constexpr int kMostAttempts = 5;  // 1 is the rule; others may make or delete the document

// $max where the document is and says what we read it to say; $setOnInsert where it is missing.
MongoWrite write_of(const AdvanceRequest& request, const CounterReading& reading) {
  const CounterBinding& binding = request.binding;
  MongoWrite write;
  write.collection = binding.collection;
  write.filter.add(binding.key_field, binding.key);
  if (reading.exists) {
    // A document without a mark is taken for what it was read as, one with another is not.
    write.filter.add("seqd.meaning",
                     Document().add_array(
                         "$in", Document().add_null("0").add("1", meaning_word(reading.meaning))));
    write.update.add("$max", Document().add(binding.counter_field,
                                            value_of(request.next_id - 1, reading.meaning)));
    return write;
  }
  const Meaning meaning = binding.meaning == Meaning::unset ? Meaning::last : binding.meaning;
  write.update.add("$setOnInsert",
                   Document()
                       .add(binding.counter_field, value_of(request.next_id - 1, meaning))
                       .add("seqd", Document().add("meaning", meaning_word(meaning))));
  write.upsert = true;
  return write;
}

// A second document of one name would be a second counter.
Status check_unique(MongoClients& clients, const CounterBinding& binding) {
  if (binding.key_field == "_id") return {};
  auto unique = clients.has_unique_index(binding.collection, binding.key_field);
  if (!unique.ok()) return unique.status();
  if (*unique) return {};
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: there is no unique index on {}, so there could be two counters of one "
                      "name; create it first",
                      clients.where(binding.collection), binding.key_field)};
}

}  // namespace

Result<std::int64_t> advance_mongo_counter(MongoClients& clients, const AdvanceRequest& request) {
  if (Status status = check_unique(clients, request.binding); !status.ok()) return status;
  Status lost(ErrorCode::UNAVAILABLE,
              fmt::format("{}: others changed the counter at every attempt; try again",
                          clients.where(request.binding.collection)));
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto reading = read_mongo_counter(clients, request.binding);
    if (!reading.ok()) return reading.status();
    if (reading->exists && reading->next_id >= request.next_id) return reading->next_id;
    const MongoWriteAnswer answer = clients.find_and_modify(write_of(request, *reading));
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
