#include "daemon/store/mongo/documents/mongo_seed.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/store/counter_value.h"

namespace seqd {
namespace {

// The document whose field is highest. In the order of types, numbers are low: a value that is not
// a number sorts above them, and so is found.
Document highest_first(const std::string& field) {
  const Document held = std::move(Document().add("$exists", true).add_null("$ne"));
  Document pipeline;
  pipeline.add("0", Document().add("$match", Document().add(field, held)));
  pipeline.add("1", Document().add("$sort", Document().add(field, std::int64_t{-1})));
  pipeline.add("2", Document().add("$limit", std::int64_t{1}));
  pipeline.add("3", Document().add("$project", Document().add(field, true)));
  return pipeline;
}

}  // namespace

Result<std::int64_t> first_of_new(MongoClients& clients, const CounterBinding& binding) {
  if (binding.seed_collection.empty()) return binding.first_id;
  const std::string field = binding.seed_field.empty() ? "_id" : binding.seed_field;
  const auto found = clients.aggregate(binding.seed_collection, highest_first(field));
  if (!found.ok()) {
    return Status(found.status().code(),
                  fmt::format("{}; the highest {} there is looked for (seed_collection), which an "
                              "index on it makes quick",
                              found.status().text(), field));
  }
  if (!found->has_value()) return binding.first_id;
  const CounterNumber number = read_counter_number((*found)->get(), field);
  if (number.kind == CounterNumber::Kind::other || number.value >= kHighestId) {
    return Status(
        ErrorCode::SEQ_TYPE,
        fmt::format("{}: the highest value of {} is {}; a counter can begin above an integer only. "
                    "Correct it, or choose another seed_field",
                    clients.where(binding.seed_collection), field,
                    number.kind == CounterNumber::Kind::other ? number.found
                                                              : std::to_string(number.value)));
  }
  return std::max(binding.first_id, number.value + 1);
}

}  // namespace seqd
