// Status and Result<T>: how everything fallible reports what went wrong. An error is a code of the
// one catalogue (protocol/errors.def) and a text for people that says what to do. Values; any
// thread; no exceptions cross a file. OK is a null pointer: it costs nothing to make and to keep.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "daemon/base/assertion.h"
#include "protocol/errors.h"

namespace seqd {

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK; so is one that was moved from
  Status(ErrorCode code, std::string text) {
    if (code != ErrorCode::OK) error_ = std::make_unique<Error>(Error{code, std::move(text)});
  }
  Status(const Status& other) { *this = other; }
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) {
    if (this != &other) error_ = other.ok() ? nullptr : std::make_unique<Error>(*other.error_);
    return *this;
  }
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return error_ == nullptr; }
  ErrorCode code() const { return ok() ? ErrorCode::OK : error_->code; }
  const std::string& text() const;  // of OK: empty

  // "CODE: text", the form that goes on the wire and into the journal; "OK" when there is no error.
  std::string to_string() const;

 private:
  struct Error {
    ErrorCode code;  // not OK
    std::string text;
  };
  std::unique_ptr<Error> error_;
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
