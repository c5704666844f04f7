#include "daemon/store/mongo_parked.h"

#include <fmt/format.h>

#include <vector>

#include "daemon/store/mongo_binding.h"

namespace seqd {
namespace {

// What the names of a counter's documents begin with, and those of no other counter that has its
// collection, key and field.
std::string counter_name(const CounterBinding& binding) {
  return binding.collection + " " + binding.key + " " + binding.counter_field;
}

std::int64_t integer_in(const bson_t* document, const char* field) {
  bson_iter_t found;
  return find_field(document, field, &found) ? bson_iter_as_int64(&found) : 0;
}

std::vector<ParkedField> parked_in(const Document& document) {
  std::vector<ParkedField> parked;
  bson_iter_t found;
  bson_iter_t each;
  if (!find_field(document.get(), "seqd.returned", &found) || !BSON_ITER_HOLDS_DOCUMENT(&found) ||
      !bson_iter_recurse(&found, &each))
    return parked;
  while (bson_iter_next(&each)) {
    const std::string name = bson_iter_key(&each);
    const std::string path = "seqd.returned." + name;
    const LeasedSpan span{integer_in(document.get(), (path + ".begin").c_str()),
                          integer_in(document.get(), (path + ".end").c_str())};
    // Others' names with dots cannot be addressed, and are not ours.
    if (name.find('.') == std::string::npos && 0 < span.begin && span.begin < span.end)
      parked.push_back({path, span});
  }
  return parked;
}

Document parked_of(const CounterBinding& binding) {
  // '!' follows the blank. Names with blanks may lie between as well; the fields tell them apart.
  return std::move(Document()
                       .add("_id", Document()
                                       .add("$gte", counter_name(binding) + " ")
                                       .add("$lt", counter_name(binding) + "!"))
                       .add("collection", binding.collection)
                       .add("key", binding.key)
                       .add("field", binding.counter_field));
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
  // The lowest is the first: the number has as many digits as any has.
  write.filter.add("_id", fmt::format("{} {:019}", counter_name(binding), request.begin))
      .add_binary("token", request.token);
  write.update.add("$setOnInsert", Document()
                                       .add("collection", binding.collection)
                                       .add("key", binding.key)
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
  MongoWrite write = unparking(binding);
  write.filter.add("begin", Document().add("$lt", floor));
  for (;;) {
    const MongoWriteAnswer answer = clients.find_and_modify(write);
    if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
    if (!answer.document) return {};
  }
}

LeasedSpan parked_span(const Document& document) {
  return {integer_in(document.get(), "begin"), integer_in(document.get(), "end")};
}

Result<CounterReading::Parked> count_parked(MongoClients& clients, const CounterBinding& binding,
                                            LeaseTrace trace) {
  CounterReading::Parked sum;
  if (trace == LeaseTrace::slot) {
    auto counter = clients.read(binding.collection, key_filter(binding));
    if (!counter.ok()) return counter.status();
    if (!counter->has_value()) return sum;
    for (const ParkedField& each : parked_in(**counter)) {
      ++sum.ranges;
      sum.ids += each.span.end - each.span.begin;
    }
  }
  if (trace != LeaseTrace::ledger) return sum;
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
    sum.ranges = integer_in((*found)->get(), "ranges");
    sum.ids = integer_in((*found)->get(), "ids");
  }
  return sum;
}

std::string parked_field_name(const Token& token) {
  return "seqd.returned." + to_hex(token);
}

Document parked_field_value(LeasedSpan span) {
  return std::move(Document().add("begin", span.begin).add("end", span.end));
}

std::optional<ParkedField> lowest_parked_field(const Document& document) {
  std::optional<ParkedField> lowest;
  for (ParkedField& each : parked_in(document)) {
    if (!lowest || each.span.begin < lowest->span.begin) lowest = std::move(each);
  }
  return lowest;
}

std::size_t parked_fields(const Document& document) {
  return parked_in(document).size();
}

}  // namespace seqd
