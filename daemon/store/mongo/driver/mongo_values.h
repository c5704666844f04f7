// BSON in C++: an owned document, and reading a counter out of one. Other drivers
// write the same number as int32, int64 or double; every other type is refused by name. Values; one
// thread.
#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "daemon/core/leasing/lease_store.h"

namespace seqd {

// An owned document; a moved-from one may only be destroyed or assigned to. Appending fails only
// for a document above 2 GB, which is a defect of the daemon.
class Document {
 public:
  Document() : bson_(bson_new()) {}
  explicit Document(const bson_t* copied) : bson_(bson_copy(copied)) {}
  Document(Document&& other) noexcept : bson_(std::exchange(other.bson_, nullptr)) {}
  Document& operator=(Document&& other) noexcept {
    std::swap(bson_, other.bson_);
    return *this;
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  ~Document() { bson_destroy(bson_); }

  Document& add(const std::string& name, const std::string& text);
  Document& add(const std::string& name, const char* text) { return add(name, std::string(text)); }
  Document& add(const std::string& name, std::int64_t number);
  Document& add_shortest(const std::string& name, std::int64_t number);  // int32 where it fits
  Document& add(const std::string& name, bool value);
  Document& add_double(const std::string& name, double number);
  Document& add_now(const std::string& name);  // the date
  Document& add_date(const std::string& name, std::int64_t ms);
  Document& add_null(const std::string& name);
  Document& add_binary(const std::string& name, const Token& bytes);
  Document& add(const std::string& name, const Document& document);
  Document& add_array(const std::string& name, const Document& items);  // keys "0", "1", ...

  const bson_t* get() const { return bson_; }
  bson_t* get() { return bson_; }

 private:
  bson_t* bson_;
};

// What a counter field holds.
struct CounterNumber {
  enum class Kind : std::uint8_t {
    integer,          // int32 or int64
    integral_double,  // a double without a fraction, at most 2^53: exact
    other             // anything else; `found` says what
  };
  Kind kind = Kind::other;
  std::int64_t value = 0;  // of integer and integral_double
  double as_double = 0;    // of integral_double
  std::string found;       // for people: "a string", "NaN", "no such field"
};

// `field` may be a path with dots.
CounterNumber read_counter_number(const bson_t* document, const std::string& field);

// The mark seqd leaves in a counter it creates, `seqd: {meaning: "last"}`; unset when there is
// none.
Meaning read_meaning_mark(const bson_t* document);

// Finds a field by path; false when it is not there.
bool find_field(const bson_t* document, const std::string& path, bson_iter_t* found);

// What is at a path, if it is of that type; else the empty value.
std::string text_in(const bson_t* document, const std::string& path);
std::int64_t number_in(const bson_t* document, const std::string& path);
std::optional<Document> document_at(const bson_iter_t& found);

}  // namespace seqd
