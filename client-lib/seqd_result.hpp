// The result of a call of seqd.hpp: a value, or an error. Header only, C++17. A program that reads
// the value of a failed result ends by abort() with a message, because any value could be taken
// for an ID.
#ifndef SEQD_RESULT_HPP
#define SEQD_RESULT_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "seqd.h"

namespace seqd {
namespace client {

struct Peek {
  std::optional<std::int64_t> next;  // none: not known
  std::int64_t available = 0;
  std::optional<std::int64_t> last;  // none: none yet, or not known
};

struct Parsed {
  std::int64_t number = 0;
  std::string period;  // "2026-11-21"; empty if the text has none
  std::string check;   // the check digits that were verified, "luhn"; empty: it has none
};

struct [[nodiscard]] Error {
  int code = SEQD_OK;
  std::string text;

  const char* name() const { return seqd_error_name(code); }
  // The same call may succeed later without a change.
  bool is_transient() const { return seqd_error_is_transient(code) != 0; }
};

// Ends the process: `what` was read, and there is only an error.
[[noreturn]] inline void abort_without(const char* what, const Error& error) {
  std::fprintf(stderr, "libseqd: %s was read, and there is only the error %s: %s\n", what,
               error.name(), error.text.c_str());
  std::abort();
}

// A T, or an error. Check ok() before value(), * and ->: without a value they abort.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return ok(); }
  bool ok() const { return value_.has_value(); }
  const T& value() const& { return *checked().value_; }
  T value() && { return std::move(*checked().value_); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  // SEQD_OK when there is a value.
  const Error& error() const { return error_; }

 private:
  const Result& checked() const {
    if (!value_) abort_without("the value of a result", error_);
    return *this;
  }
  Result& checked() {
    if (!value_) abort_without("the value of a result", error_);
    return *this;
  }

  std::optional<T> value_;
  Error error_;
};

}  // namespace client
}  // namespace seqd

#endif
