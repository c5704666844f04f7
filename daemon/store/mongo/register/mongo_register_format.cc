#include "daemon/store/mongo/register/mongo_register_format.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/store/mongo/driver/mongo_handles.h"

namespace seqd {
namespace {

Document id_of(const RegisterPlace& place, std::int64_t number) {
  return std::move(Document()
                       .add("counter", place.binding.key)
                       .add("period", place.period)
                       .add("number", number));
}

bool is_true(const Document& document, const char* field) {
  bson_iter_t found;
  return bson_iter_init_find(&found, document.get(), field) && bson_iter_as_bool(&found);
}

// Reads the fields of one document; the first that is wrong is remembered.
class FieldReader {
 public:
  FieldReader(const Document& document, const std::string& where)
      : document_(document), where_(where) {}

  // The same of a document within, whose path this is.
  FieldReader(const FieldReader& whole, const Document& within, std::string path)
      : document_(within), where_(whole.where_), id_(whole.id()), path_(std::move(path)) {}

  bool has(const std::string& field) const {
    bson_iter_t found;
    return find_field(document_.get(), field, &found);
  }
  std::string text(const std::string& field) {
    bson_iter_t found;
    if (!find_field(document_.get(), field, &found) || !BSON_ITER_HOLDS_UTF8(&found)) {
      refuse(field, "a text is needed");
      return "";
    }
    std::uint32_t size = 0;
    const char* const bytes = bson_iter_utf8(&found, &size);
    return {bytes, size};
  }
  Stamp stamp(const std::string& field) {
    Stamp read;
    read.by = text(field + ".by");
    bson_iter_t found;
    if (find_field(document_.get(), field + ".at", &found) && BSON_ITER_HOLDS_DATE_TIME(&found))
      read.at_ms = bson_iter_date_time(&found);
    else
      refuse(field + ".at", "a date is needed");
    return read;
  }
  void refuse(const std::string& field, const char* why) {
    if (!status_.ok()) return;
    status_ = {ErrorCode::STORE_REFUSED,
               fmt::format("{}, document {{_id: {}}}: field {}{}: {}; it was changed by hand, and "
                           "nothing is concluded from it: correct it",
                           where_, id(), path_, field, why)};
  }
  const Status& status() const { return status_; }
  const Document& document() const { return document_; }

 private:
  std::string id() const {
    if (!id_.empty()) return id_;
    const auto found = document_in(document_.get(), "_id");
    char* const json = found ? bson_as_relaxed_extended_json(found->get(), nullptr) : nullptr;
    std::string text = json == nullptr ? "?" : json;
    bson_free(json);
    return text;
  }

  const Document& document_;
  const std::string& where_;
  const std::string id_;
  const std::string path_;
  Status status_;
};

std::optional<NumberState> state_of_word(std::string_view word) {
  for (const NumberState state :
       {NumberState::assigned, NumberState::confirmed, NumberState::voided, NumberState::free}) {
    if (word == number_state_word(state)) return state;
  }
  return std::nullopt;
}

Status read_former(FieldReader& reader, NumberRecord& record) {
  bson_iter_t list;
  bson_iter_t item;
  if (!bson_iter_init_find(&list, reader.document().get(), "former") ||
      !BSON_ITER_HOLDS_ARRAY(&list) || !bson_iter_recurse(&list, &item)) {
    reader.refuse("former", "a list is needed");
    return reader.status();
  }
  while (bson_iter_next(&item)) {
    const auto each = document_at(item);
    if (!each) {
      reader.refuse("former", "a list of documents is needed");
      return reader.status();
    }
    FieldReader former(reader, *each, fmt::format("former.{}.", record.former.size()));
    record.former.push_back({.key = former.text("key"),
                             .assigned = former.stamp("assigned"),
                             .cancelled = former.stamp("cancelled"),
                             .reason = former.text("reason")});
    if (!former.status().ok()) return former.status();
  }
  return reader.status();
}

}  // namespace

std::string mongo_register_name(const RegisterPlace& place) {
  return place.period.empty() ? place.binding.key : place.binding.key + "@" + place.period;
}

Document number_filter(const RegisterPlace& place, std::int64_t number) {
  return std::move(Document().add("_id", id_of(place, number)).add("counter", place.binding.key));
}

Document period_filter(const RegisterPlace& place, std::int64_t after) {
  const Document range =
      std::move(Document()
                    .add("$gt", id_of(place, after))
                    .add("$lte", id_of(place, std::numeric_limits<std::int64_t>::max())));
  return std::move(Document().add("_id", range).add("counter", place.binding.key));
}

Document stamp_document(const Stamp& stamp) {
  return std::move(Document().add_date("at", stamp.at_ms).add("by", stamp.by));
}

Document former_document(const std::string& key, const Stamp& assigned,
                         const RegisterChange& cancel) {
  return std::move(Document()
                       .add("key", key)
                       .add("assigned", stamp_document(assigned))
                       .add("cancelled", stamp_document(cancel.stamp))
                       .add("reason", cancel.reason));
}

// Without a key it is as a number that was cancelled for an empty one.
Document number_document(const RegisterPlace& place, const RegisterChange& add) {
  const bool is_void = add.key.empty();
  Document document = number_filter(place, add.number);
  document.add("state", number_state_word(is_void ? NumberState::voided : NumberState::assigned));
  if (!is_void) document.add("key", add.key);
  Document former;
  if (is_void) former.add("0", former_document("", add.stamp, add));
  document.add("text", add.text)
      .add("assigned", stamp_document(add.stamp))
      .add_array("former", former);
  return document;
}

Document end_document(const RegisterPlace& place, const RegisterChange& close) {
  return std::move(number_filter(place, close.number)
                       .add("state", "end")
                       .add_date("at", close.stamp.at_ms)
                       .add("by", close.stamp.by));
}

Result<std::int64_t> number_of(const Document& document, const std::string& where) {
  const CounterNumber number = read_counter_number(document.get(), "_id.number");
  if (number.kind != CounterNumber::Kind::other && number.value > 0) return number.value;
  FieldReader reader(document, where);
  reader.refuse("_id.number", "an integer above 0 is needed");
  return reader.status();
}

bool is_end(const Document& document) {
  bson_iter_t found;
  return bson_iter_init_find(&found, document.get(), "state") && BSON_ITER_HOLDS_UTF8(&found) &&
         std::string_view(bson_iter_utf8(&found, nullptr)) == "end";
}

bool is_swept(const Document& document) {
  return is_true(document, "swept");
}

Result<NumberRecord> record_of(const Document& document, const RegisterPlace& place,
                               const std::string& where) {
  FieldReader reader(document, where);
  NumberRecord record;
  const auto number = number_of(document, where);
  if (!number.ok()) return number.status();
  record.number = *number;
  record.period = reader.text("_id.period");
  if (reader.text("_id.counter") != place.binding.key)
    reader.refuse("counter", "it is not that of _id");
  const auto state = state_of_word(reader.text("state"));
  if (!state) {
    reader.refuse("state", "it is no state of a number");
    return reader.status();
  }
  record.state =
      *state == NumberState::free && is_true(document, "ended") ? NumberState::voided : *state;
  const bool has_key = *state == NumberState::assigned || *state == NumberState::confirmed;
  if (has_key) record.key = reader.text("key");
  if (has_key != reader.has("key")) reader.refuse("key", "a number that is void or free has none");
  record.text = reader.text("text");
  record.assigned = reader.stamp("assigned");
  if (*state == NumberState::confirmed) record.confirmed = reader.stamp("confirmed");
  if (Status status = read_former(reader, record); !status.ok()) return status;
  return record;
}

}  // namespace seqd
