#include "daemon/store/mongo/lease/mongo_parked.h"

#include <fmt/format.h>

#include <vector>

#include "daemon/store/mongo/documents/mongo_binding.h"

namespace seqd {
namespace {

constexpr int kMostDropped = 1'000;  // parked ranges, by one call

// What the names of a counter's documents begin with, and those of no other counter: no part runs
// on into the next, since its length stands before it.
std::string counter_name(const CounterBinding& binding) {
  const auto part = [](const std::string& text) { return fmt::format("{}:{}", text.size(), text); };
  const char type = binding.key_type == KeyType::integer ? 'i' : 't';
  return fmt::format("{} {} {}{} {}", part(binding.collection), part(binding.key_field), type,
                     part(binding.key), part(binding.counter_field));
}

// The counter's, in its own document.
std::vector<ParkedField> parked_in(const Document& document, const CounterBinding& binding) {
  std::vector<ParkedField> parked;
  bson_iter_t found;
  bson_iter_t each;
  if (!find_field(document.get(), "seqd.returned", &found) || !BSON_ITER_HOLDS_DOCUMENT(&found) ||
      !bson_iter_recurse(&found, &each))
    return parked;
  while (bson_iter_next(&each)) {
    const std::string name = bson_iter_key(&each);
    const std::string path = "seqd.returned." + name;
    const LeasedSpan span{number_in(document.get(), path + ".begin"),
                          number_in(document.get(), path + ".end")};
    // Others' names with dots cannot be addressed, and are not ours.
    const bool addressed = name.find('.') == std::string::npos;
    const bool of_counter = text_in(document.get(), path + ".field") == binding.counter_field;
    if (addressed && of_counter && 0 < span.begin && span.begin < span.end)
      parked.push_back({path, span});
  }
  return parked;
}

Document parked_of(const CounterBinding& binding) {
  // '!' follows the blank.
  return std::move(Document().add(
      "_id",
      Document().add("$gte", counter_name(binding) + " ").add("$lt", counter_name(binding) + "!")));
}

Status drop_parked_documents(MongoClients& clients, const CounterBinding& binding,
                             std::int64_t floor) {
  MongoWrite write = unparking(binding);
  write.filter.add("begin", Document().add("$lt", floor));
  for (int dropped = 0; dropped < kMostDropped; ++dropped) {
    const MongoWriteAnswer answer = clients.find_and_modify(write);
    if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
    if (!answer.document) return {};
  }
  return {ErrorCode::UNAVAILABLE,
          fmt::format("{}: {} parked ranges below {} were removed, and there are more; try again",
                      clients.where(kMongoReturned), kMostDropped, floor)};
}

Status drop_parked_fields(MongoClients& clients, const CounterBinding& binding,
                          std::int64_t floor) {
  const auto counter = clients.read(binding.collection, key_filter(binding));
  if (!counter.ok()) return counter.status();
  if (!counter->has_value()) return {};
  Document names;
  for (const ParkedField& each : parked_in(**counter, binding)) {
    if (each.span.begin < floor) names.add(each.field, true);
  }
  if (bson_empty(names.get())) return {};
  MongoWrite write;
  write.collection = binding.collection;
  write.filter = key_filter(binding);
  write.update.add("$unset", names);
  write.returned_field = "_id";
  const MongoWriteAnswer answer = clients.find_and_modify(write);
  return answer.kind == MongoWriteAnswer::Kind::done ? Status() : answer.error;
}

}  // namespace

Status make_returned_collection(MongoClients& clients) {
  return clients.run(Document().add("create", kMongoReturned), kMongoReturned,
                     kMongoNamespaceExists);
}

MongoWrite parking(const ReturnRequest& request) {
  const CounterBinding& binding = request.binding;
  MongoWrite write;
  write.collection = kMongoReturned;
  const bool integer = binding.key_type == KeyType::integer;
  // The lowest is the first: the number has as many digits as any has.
  write.filter.add("_id", fmt::format("{} {:019}", counter_name(binding), request.begin))
      .add_binary("token", request.token);
  write.update.add("$setOnInsert", Document()
                                       .add("collection", binding.collection)
                                       .add("key_field", binding.key_field)
                                       .add("key", binding.key)
                                       .add("key_type", integer ? "integer" : "text")
                                       .add("field", binding.counter_field)
                                       .add("begin", request.begin)
                                       .add("end", request.end));
  write.update.add("$currentDate", Document().add("at", true));
  write.returned_field = "_id";
  write.upsert = true;
  return write;
}

MongoWrite unparking(const CounterBinding& binding) {
  MongoWrite write;
  write.collection = kMongoReturned;
  write.filter = parked_of(binding);
  write.lowest_of = "_id";
  write.remove = true;
  return write;
}

Status drop_parked(MongoClients& clients, const CounterBinding& binding, std::int64_t floor) {
  if (Status status = drop_parked_documents(clients, binding, floor); !status.ok()) return status;
  return drop_parked_fields(clients, binding, floor);
}

LeasedSpan parked_span(const Document& document) {
  return {number_in(document.get(), "begin"), number_in(document.get(), "end")};
}

Result<CounterReading::Parked> count_parked(MongoClients& clients, const CounterBinding& binding,
                                            LeaseTrace trace) {
  CounterReading::Parked sum;
  if (trace == LeaseTrace::slot) {
    auto counter = clients.read(binding.collection, key_filter(binding));
    if (!counter.ok()) return counter.status();
    if (!counter->has_value()) return sum;
    for (const ParkedField& each : parked_in(**counter, binding)) {
      ++sum.ranges;
      sum.ids += each.span.end - each.span.begin;
    }
  }
  if (!is_in_ledger(trace)) return sum;
  const Document length =
      std::move(Document().add_array("$subtract", Document().add("0", "$end").add("1", "$begin")));
  const Document group = std::move(Document()
                                       .add_null("_id")
                                       .add("ranges", Document().add("$sum", std::int64_t{1}))
                                       .add("ids", Document().add("$sum", length)));
  auto found =
      clients.aggregate(kMongoReturned, Document()
                                            .add("0", Document().add("$match", parked_of(binding)))
                                            .add("1", Document().add("$group", group)));
  if (!found.ok()) return found.status();
  if (found->has_value()) {
    sum.ranges = number_in((*found)->get(), "ranges");
    sum.ids = number_in((*found)->get(), "ids");
  }
  return sum;
}

std::string parked_field_name(const Token& token) {
  return "seqd.returned." + to_hex(token);
}

Document parked_field_value(const ReturnRequest& request) {
  return std::move(Document()
                       .add("begin", request.begin)
                       .add("end", request.end)
                       .add("field", request.binding.counter_field));
}

std::optional<ParkedField> lowest_parked_field(const Document& document,
                                               const CounterBinding& binding) {
  std::optional<ParkedField> lowest;
  for (ParkedField& each : parked_in(document, binding)) {
    if (!lowest || each.span.begin < lowest->span.begin) lowest = std::move(each);
  }
  return lowest;
}

std::size_t parked_fields(const Document& document, const CounterBinding& binding) {
  return parked_in(document, binding).size();
}

}  // namespace seqd
