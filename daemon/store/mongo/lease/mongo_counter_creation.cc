// MongoCounter: a document that is not there yet, or whose number is a double.
#include <fmt/format.h>

#include <utility>

#include "daemon/store/mongo/documents/mongo_seed.h"
#include "daemon/store/mongo/lease/mongo_counter.h"

namespace seqd {
namespace {

constexpr int kMostDuplicates = 5;

}  // namespace

MongoCounter::Step MongoCounter::create() {
  if (request_.high_water > 0) return refused(missing_counter(request_, where_));
  if (!binding_.create) return refused(creation_not_allowed(where_));
  auto first = first_of_new(clients_, binding_);
  if (!first.ok()) return refused(first.status());
  // The index may have been dropped since it was seen, and a second document is for ever.
  if (Status status = check_unique_key(clients_, binding_); !status.ok())
    return refused(std::move(status));
  meaning_ = meaning_of_new(binding_);
  MongoWriteAnswer answer = clients_.find_and_modify(creation(binding_, *first));
  if (answer.kind == MongoWriteAnswer::Kind::done) return std::nullopt;
  if (is_our_duplicate(answer) && ++duplicates_ <= kMostDuplicates) return std::nullopt;
  if (answer.server_code == kMongoValidationFailure)
    return refused(refused_mark(answer.error, *first));
  // Unknown is as good as refused here: a counter may stand there now, but nothing was leased.
  return refused(std::move(answer.error));
}

Status MongoCounter::refused_mark(const Status& error, std::int64_t first) const {
  return {error.code(),
          fmt::format("{}; seqd puts an object \"seqd\" into a counter that it makes: let the "
                      "collection's validator pass it, or insert the counter yourself, with {}: {}",
                      error.text(), binding_.counter_field, value_of(first - 1, meaning_))};
}

// Whether another writer inserted this very key at the same moment. Any other duplicate key (a
// unique index on a field we do not write) will not go away by trying again.
bool MongoCounter::is_our_duplicate(const MongoWriteAnswer& answer) const {
  if (answer.server_code != kMongoDuplicateKey) return false;
  bson_iter_t found;
  if (!bson_iter_init_find(&found, answer.reply.get(), "keyValue")) {
    // Servers before 4.4 report the key in the text only.
    return binding_.key_field == "_id" &&
           answer.error.text().find(" index: _id_ ") != std::string::npos;
  }
  bson_iter_t inner;
  if (!BSON_ITER_HOLDS_DOCUMENT(&found) || !bson_iter_recurse(&found, &inner) ||
      !bson_iter_next(&inner))
    return false;
  if (binding_.key_field != bson_iter_key(&inner)) return false;
  const bool same_key =
      binding_.key_type == KeyType::text
          ? BSON_ITER_HOLDS_UTF8(&inner) && binding_.key == bson_iter_utf8(&inner, nullptr)
          : BSON_ITER_HOLDS_INT(&inner) && integer_key(binding_) == bson_iter_as_int64(&inner);
  return same_key && !bson_iter_next(&inner);
}

// A program that wrote a double may write another one before the next attempt, so the lease itself
// has to accept doubles. On a server that does not support that, which is possible for plain leases
// only, the double is converted first; usually that suffices.
MongoCounter::Step MongoCounter::accept_double(const CounterNumber& number) {
  if (trace_ == LeaseTrace::plain) {
    bool pipelines = false;
    if (std::exchange(converted_, true)) {
      auto facts = clients_.server(binding_.collection);
      if (!facts.ok()) return refused(facts.status());
      pipelines = facts->wire_version >= kMongoWireOfPipelines;
    }
    if (!pipelines) return convert(number.as_double, number.value);
  }
  doubles_ = true;
  return std::nullopt;
}

// Writes an integral double as int64, on condition that it is still exactly that double.
MongoCounter::Step MongoCounter::convert(double from, std::int64_t to) {
  MongoWrite write;
  write.collection = binding_.collection;
  write.filter = key_filter(binding_);
  write.filter.add(binding_.counter_field,
                   Document().add("$type", "double").add_double("$eq", from));
  write.update.add("$set", Document().add(binding_.counter_field, to));
  write.returned_field = binding_.counter_field;
  MongoWriteAnswer answer = clients_.find_and_modify(write);
  if (answer.kind == MongoWriteAnswer::Kind::done) return std::nullopt;
  // Unknown or not: the number is the same, and nothing was leased.
  return refused(std::move(answer.error));
}

}  // namespace seqd
