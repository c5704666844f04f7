// Status and Result<T>: how everything fallible reports what went wrong. An error is a code of the
// one catalogue (protocol/errors.def) and a text for people that says what to do. Values; any
// thread; no exceptions cross a file.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "daemon/base/assertion.h"
#include "protocol/errors.h"

namespace seqd {

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(ErrorCode code, std::string text) : code_(code), text_(std::move(text)) {}

  bool ok() const { return code_ == ErrorCode::OK; }
  ErrorCode code() const { return code_; }
  const std::string& text() const { return text_; }

  // "CODE: text", the form that goes on the wire and into the journal; "OK" when there is no error.
  std::string to_string() const;

 private:
  ErrorCode code_ = ErrorCode::OK;
  std::string text_;
};

// Either a T or a Status that is not OK.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : held_(std::move(value)) {
  }  // NOLINT(google-explicit-constructor): `return value;` is the point
  Result(Status error) : held_(std::move(error)) {  // NOLINT(google-explicit-constructor)
    ASSERT(!std::get<Status>(held_).ok());
  }
  Result(ErrorCode code, std::string text) : held_(Status(code, std::move(text))) {}

  bool ok() const { return std::holds_alternative<T>(held_); }
  // The error, or OK.
  Status status() const { return ok() ? Status() : std::get<Status>(held_); }

  T& value() {
    ASSERT(ok());
    return std::get<T>(held_);
  }
  const T& value() const {
    ASSERT(ok());
    return std::get<T>(held_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> held_;
};

}  // namespace seqd
