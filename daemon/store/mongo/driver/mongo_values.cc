#include "daemon/store/mongo/driver/mongo_values.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr double kExactDoubles = 9007199254740992.0;  // 2^53

int length_of(const std::string& name) {
  return static_cast<int>(name.size());
}

const char* type_word(bson_type_t type) {
  switch (type) {
    case BSON_TYPE_UTF8:
      return "a string";
    case BSON_TYPE_DOCUMENT:
      return "a document";
    case BSON_TYPE_ARRAY:
      return "an array";
    case BSON_TYPE_BINARY:
      return "binary data";
    case BSON_TYPE_UNDEFINED:
      return "undefined";
    case BSON_TYPE_OID:
      return "an ObjectId";
    case BSON_TYPE_BOOL:
      return "a boolean";
    case BSON_TYPE_DATE_TIME:
      return "a date";
    case BSON_TYPE_NULL:
      return "null";
    case BSON_TYPE_REGEX:
      return "a regular expression";
    case BSON_TYPE_TIMESTAMP:
      return "a timestamp";
    case BSON_TYPE_DECIMAL128:
      return "a decimal128";
    case BSON_TYPE_CODE:
    case BSON_TYPE_CODEWSCOPE:
      return "JavaScript code";
    case BSON_TYPE_SYMBOL:
      return "a symbol";
    case BSON_TYPE_DBPOINTER:
      return "a DBPointer";
    case BSON_TYPE_MINKEY:
      return "MinKey";
    case BSON_TYPE_MAXKEY:
      return "MaxKey";
    default:
      return "a value of a type seqd does not know";
  }
}

CounterNumber other(std::string found) {
  return {
      .kind = CounterNumber::Kind::other, .value = 0, .as_double = 0, .found = std::move(found)};
}

CounterNumber of_double(double number) {
  if (std::isnan(number)) return other("NaN");
  if (std::isinf(number)) return other("an infinite double");
  if (number != std::floor(number))
    return other(fmt::format("the double {}, which has a fraction", number));
  if (std::fabs(number) > kExactDoubles) {
    return other(fmt::format("the double {}, which is above 2^53 and no longer exact", number));
  }
  return {.kind = CounterNumber::Kind::integral_double,
          .value = static_cast<std::int64_t>(number),
          .as_double = number,
          .found = fmt::format("the double {}", number)};
}

}  // namespace

Document& Document::add(const std::string& name, const std::string& text) {
  ASSERT(bson_append_utf8(get(), name.data(), length_of(name), text.data(),
                          static_cast<int>(text.size())));
  return *this;
}

Document& Document::add(const std::string& name, std::int64_t number) {
  ASSERT(bson_append_int64(get(), name.data(), length_of(name), number));
  return *this;
}

Document& Document::add_shortest(const std::string& name, std::int64_t number) {
  const auto narrow = static_cast<std::int32_t>(number);
  if (narrow != number) return add(name, number);
  ASSERT(bson_append_int32(get(), name.data(), length_of(name), narrow));
  return *this;
}

Document& Document::add(const std::string& name, bool value) {
  ASSERT(bson_append_bool(get(), name.data(), length_of(name), value));
  return *this;
}

Document& Document::add_double(const std::string& name, double number) {
  ASSERT(bson_append_double(get(), name.data(), length_of(name), number));
  return *this;
}

Document& Document::add_now(const std::string& name) {
  ASSERT(bson_append_now_utc(get(), name.data(), length_of(name)));
  return *this;
}

Document& Document::add_date(const std::string& name, std::int64_t ms) {
  ASSERT(bson_append_date_time(bson_, name.c_str(), static_cast<int>(name.size()), ms));
  return *this;
}

Document& Document::add_null(const std::string& name) {
  ASSERT(bson_append_null(get(), name.data(), length_of(name)));
  return *this;
}

Document& Document::add_binary(const std::string& name, const Token& bytes) {
  ASSERT(bson_append_binary(get(), name.data(), length_of(name), BSON_SUBTYPE_BINARY, bytes.data(),
                            static_cast<std::uint32_t>(bytes.size())));
  return *this;
}

Document& Document::add(const std::string& name, const Document& document) {
  ASSERT(bson_append_document(get(), name.data(), length_of(name), document.get()));
  return *this;
}

Document& Document::add_array(const std::string& name, const Document& items) {
  ASSERT(bson_append_array(get(), name.data(), length_of(name), items.get()));
  return *this;
}

bool find_field(const bson_t* document, const std::string& path, bson_iter_t* found) {
  bson_iter_t all;
  return bson_iter_init(&all, document) && bson_iter_find_descendant(&all, path.c_str(), found);
}

std::string text_in(const bson_t* document, const std::string& path) {
  bson_iter_t found;
  if (!find_field(document, path, &found) || !BSON_ITER_HOLDS_UTF8(&found)) return "";
  std::uint32_t size = 0;
  const char* const text = bson_iter_utf8(&found, &size);
  return {text, size};
}

std::int64_t number_in(const bson_t* document, const std::string& path) {
  bson_iter_t found;
  const bool there = find_field(document, path, &found) && BSON_ITER_HOLDS_NUMBER(&found);
  return there ? bson_iter_as_int64(&found) : 0;
}

std::optional<Document> document_at(const bson_iter_t& found) {
  if (!BSON_ITER_HOLDS_DOCUMENT(&found)) return std::nullopt;
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;
  bson_iter_document(&found, &size, &data);
  bson_t view;
  if (!bson_init_static(&view, data, size)) return std::nullopt;
  return Document(&view);
}

CounterNumber read_counter_number(const bson_t* document, const std::string& field) {
  bson_iter_t found;
  if (!find_field(document, field, &found)) return other("no such field");
  switch (bson_iter_type(&found)) {
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64: {
      const std::int64_t value = bson_iter_as_int64(&found);
      return {.kind = CounterNumber::Kind::integer,
              .value = value,
              .as_double = 0,
              .found = fmt::format("{}", value)};
    }
    case BSON_TYPE_DOUBLE:
      return of_double(bson_iter_double(&found));
    default:
      return other(type_word(bson_iter_type(&found)));
  }
}

Meaning read_meaning_mark(const bson_t* document) {
  bson_iter_t found;
  if (!find_field(document, "seqd.meaning", &found) || !BSON_ITER_HOLDS_UTF8(&found))
    return Meaning::unset;
  std::uint32_t length = 0;
  const char* text = bson_iter_utf8(&found, &length);
  const std::string_view word(text, length);
  return word == "last" ? Meaning::last : word == "next" ? Meaning::next : Meaning::unset;
}

}  // namespace seqd
