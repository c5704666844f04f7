#include "daemon/store/mongo/register/mongo_register.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/store/mongo/register/mongo_register_format.h"
#include "daemon/store/mongo/register/mongo_register_reads.h"

namespace seqd {
namespace {

Document only(const char* name, const Document& value) {
  return std::move(Document().add(name, value));
}

Document not_true() {
  return std::move(Document().add("$ne", true));
}

Document stages(const Document& match, const char* order, std::int64_t direction,
                std::int64_t most) {
  return std::move(Document()
                       .add("0", only("$match", match))
                       .add("1", only("$sort", Document().add(order, direction)))
                       .add("2", Document().add("$limit", most)));
}

// As record_of() says it.
void require_state(Document& filter, std::optional<NumberState> state) {
  if (!state) {
    filter.add("state", Document().add("$ne", "end"));
    return;
  }
  const char* const word = number_state_word(*state);
  if (*state == NumberState::voided) {
    const Document ended =
        std::move(Document().add("state", number_state_word(NumberState::free)).add("ended", true));
    filter.add_array("$or", Document().add("0", Document().add("state", word)).add("1", ended));
    return;
  }
  filter.add("state", word);
  if (*state == NumberState::free) filter.add("ended", not_true());
}

}  // namespace

MongoRegister::MongoRegister(MongoClients& clients, const RegisterPlace& place)
    : clients_(clients), place_(place), where_(clients.where(kMongoRegister)) {}

// --- reading

Result<MongoRegister::Highest> MongoRegister::highest() {
  const auto last =
      read_of_majority(clients_, kMongoRegister, stages(period_filter(place_), "_id", -1, 1));
  if (!last.ok()) return last.status();
  if (last->empty()) return Highest{};
  const Document& document = last->front();
  const auto number = number_of(document, where_);
  if (!number.ok()) return number.status();
  if (is_end(document)) {
    const Highest ended{*number - 1, true, is_swept(document)};
    if (!ended.swept) unswept_ = *number;
    return ended;
  }
  // A document that cannot be read could be an end.
  const auto record = record_of(document, place_, where_);
  if (!record.ok()) return record.status();
  return Highest{*number, false, false};
}

Result<RegisterReading> MongoRegister::read(const RegisterQuery& query) {
  RegisterReading reading;
  reading.of_keys.resize(query.keys.size());
  reading.of_numbers.resize(query.numbers.size());
  const auto last = highest();
  if (!last.ok()) return last.status();
  reading.highest = last->number;
  reading.closed = last->closed;
  Status status;
  if (query.free > 0 && !reading.closed) status = read_free(query, reading);
  if (status.ok() && !query.keys.empty()) status = read_keys(query, reading);
  if (status.ok() && !query.numbers.empty()) status = read_numbers(query, reading);
  return status.ok() ? Result<RegisterReading>(std::move(reading)) : status;
}

// A document that cannot be read is left out: others are as good. A list shows it.
Status MongoRegister::read_free(const RegisterQuery& query, RegisterReading& reading) {
  Document free;
  free.add("counter", place_.binding.key)
      .add("_id.period", place_.period)
      .add("_id.number", Document().add("$gt", std::int64_t{0}));
  require_state(free, NumberState::free);
  const auto found = read_of_majority(clients_, kMongoRegister,
                                      stages(free, "_id.number", query.newest_free ? -1 : 1,
                                             static_cast<std::int64_t>(query.free)));
  if (!found.ok()) return found.status();
  for (const Document& document : *found) {
    auto record = record_of(document, place_, where_);
    if (record.ok()) reading.free.push_back(std::move(*record));
  }
  return {};
}

Status MongoRegister::read_keys(const RegisterQuery& query, RegisterReading& reading) {
  Document keys;
  for (std::size_t at = 0; at < query.keys.size(); ++at)
    keys.add(std::to_string(at), query.keys[at]);
  Document filter;
  filter.add("counter", place_.binding.key).add("key", Document().add_array("$in", keys));
  const auto found = read_newest(clients_, kMongoRegister, filter);
  if (!found.ok()) return found.status();
  std::map<std::string, NumberRecord> records;
  for (const Document& document : *found) {
    auto record = record_of(document, place_, where_);
    if (!record.ok()) {
      reading.unreadable.push_back({number_in(document.get(), "_id.number"),
                                    text_in(document.get(), "key"), record.status()});
      continue;
    }
    const auto [first, is_new] = records.try_emplace(record->key, *record);
    if (!is_new) {
      const auto two = std::minmax(first->second.number, record->number);
      reading.unreadable.push_back(
          {two.first,
           record->key,
           {ErrorCode::STORE_REFUSED,
            fmt::format("{}: the key \"{}\" of \"{}\" has the numbers {} and {}: the unique "
                        "index was missing; correct it",
                        where_, record->key, place_.binding.key, two.first, two.second)}});
    }
  }
  for (const UnreadableNumber& each : reading.unreadable) records.erase(each.key);
  for (std::size_t at = 0; at < query.keys.size(); ++at) {
    const auto record = records.find(query.keys[at]);
    if (record != records.end()) reading.of_keys[at] = record->second;
  }
  return {};
}

Status MongoRegister::read_numbers(const RegisterQuery& query, RegisterReading& reading) {
  Document ids;
  for (std::size_t at = 0; at < query.numbers.size(); ++at) {
    const Document filter = number_filter(place_, query.numbers[at]);
    ids.add(std::to_string(at), *document_in(filter.get(), "_id"));
  }
  Document filter;
  filter.add("counter", place_.binding.key).add("_id", Document().add_array("$in", ids));
  const auto found = read_newest(clients_, kMongoRegister, filter);
  if (!found.ok()) return found.status();
  std::map<std::int64_t, NumberRecord> records;
  for (const Document& document : *found) {
    if (is_end(document)) continue;
    auto record = record_of(document, place_, where_);
    if (!record.ok()) {
      reading.unreadable.push_back({number_in(document.get(), "_id.number"), "", record.status()});
      continue;
    }
    records.emplace(record->number, std::move(*record));
  }
  for (std::size_t at = 0; at < query.numbers.size(); ++at) {
    const auto record = records.find(query.numbers[at]);
    if (record != records.end()) reading.of_numbers[at] = record->second;
  }
  return {};
}

Result<std::vector<NumberRecord>> MongoRegister::page(const RegisterPageQuery& query) {
  std::vector<NumberRecord> records;
  if (query.limit == 0) return records;
  Document filter = period_filter(place_, query.after);
  require_state(filter, query.state);
  const auto found = read_of_majority(
      clients_, kMongoRegister, stages(filter, "_id", 1, static_cast<std::int64_t>(query.limit)));
  if (!found.ok()) return found.status();
  for (const Document& document : *found) {
    auto record = record_of(document, place_, where_);
    if (!record.ok()) return record.status();
    records.push_back(std::move(*record));
  }
  return records;
}

// --- the end of a close

Status MongoRegister::finish_close(std::int64_t end) {
  const Document open = std::move(Document()
                                      .add("0", number_state_word(NumberState::assigned))
                                      .add("1", number_state_word(NumberState::free)));
  Document open_numbers = period_filter(place_);
  open_numbers.add("state", Document().add_array("$in", open)).add("ended", not_true());
  Status status = update_all(open_numbers, only("$set", Document().add("ended", true)));
  if (!status.ok()) return status;
  Document free_numbers = period_filter(place_);
  free_numbers.add("state", number_state_word(NumberState::free));
  status = update_all(
      free_numbers, only("$set", Document().add("state", number_state_word(NumberState::voided))));
  if (!status.ok()) return status;
  MongoWrite swept;
  swept.collection = kMongoRegister;
  swept.filter = number_filter(place_, end);
  swept.update.add("$set", Document().add("swept", true));
  swept.returned_field = "_id";
  const MongoWriteAnswer answer = clients_.find_and_modify(swept);
  if (answer.kind != MongoWriteAnswer::Kind::done) return answer.error;
  unswept_ = 0;
  return {};
}

Status MongoRegister::update_all(const Document& filter, const Document& update) {
  const MongoConnection connection(clients_.pool());
  if (connection.get() == nullptr) return clients_.no_connection();
  const CollectionHandle handle = connection.collection(clients_.target().database, kMongoRegister);
  mongoc_collection_set_write_concern(handle.get(), clients_.target().write_concern.get());
  MongoReply reply;
  bson_error_t error = {};
  if (mongoc_collection_update_many(handle.get(), filter.get(), update.get(), nullptr,
                                    reply.uninitialised(), &error))
    return {};
  return clients_.status_of(error, kMongoRegister, reply.get());
}

}  // namespace seqd
