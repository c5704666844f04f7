// IdRange: the right to issue the IDs [begin, end). Move-only, so that a range has one owner at a
// time, and a moved-from range is empty. IDs are within 1 .. 2^63-1. One thread.
#pragma once

#include <cstdint>

#include "daemon/base/assertion.h"

namespace seqd {

class IdRange {
 public:
  IdRange() = default;
  IdRange(std::int64_t begin, std::int64_t end) : begin_(begin), end_(end) { ASSERT(begin <= end); }
  IdRange(IdRange&& other) noexcept : begin_(other.begin_), end_(other.end_) {
    other.begin_ = other.end_;
  }
  IdRange& operator=(IdRange&& other) noexcept {
    if (this != &other) {
      begin_ = other.begin_;
      end_ = other.end_;
      other.begin_ = other.end_;
    }
    return *this;
  }
  IdRange(const IdRange&) = delete;
  IdRange& operator=(const IdRange&) = delete;
  ~IdRange() = default;

  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  std::int64_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  // Splits the first `count` IDs off. `count` is within 0 .. size().
  IdRange take_front(std::int64_t count) {
    ASSERT(count >= 0 && count <= size());
    const std::int64_t begin = begin_;
    begin_ += count;
    return {begin, begin_};
  }

 private:
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace seqd
