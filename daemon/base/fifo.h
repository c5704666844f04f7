// Fifo: values in the order of their coming, taken at either end. In place of std::deque where
// there are many of them with few values each: an empty one allocates nothing (a deque of
// libstdc++ has 640 bytes), and taking the front costs the same however many there are, on
// average. Iterators are valid until something is added or taken. A value; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"

namespace seqd {

// `T` is movable and has a default value, which takes the place of a front that was taken.
template <typename T>
class Fifo {
 public:
  using value_type = T;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  iterator begin() { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  iterator end() { return items_.end(); }
  const_iterator begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  const_iterator end() const { return items_.end(); }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }

  void push_back(T value) { items_.push_back(std::move(value)); }
  void push_front(T value) {
    if (first_ == 0) {
      items_.insert(items_.begin(), std::move(value));
    } else {
      items_[--first_] = std::move(value);
    }
  }
  void pop_front() {
    ASSERT(!empty());
    items_[first_++] = T();
    // At least half of the values were taken, so each is moved at most once, on average.
    if (first_ * 2 >= items_.size()) close_up();
  }
  void pop_back() {
    ASSERT(!empty());
    items_.pop_back();
    if (empty()) close_up();
  }
  void erase(const_iterator at) {
    if (at == std::as_const(*this).begin()) return pop_front();
    items_.erase(at);
  }
  template <typename Predicate>
  void erase_if(Predicate gone) {
    close_up();
    std::erase_if(items_, gone);
  }

  bool operator==(const Fifo& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  void close_up() {
    items_.erase(items_.begin(), begin());
    first_ = 0;
  }

  std::vector<T> items_;
  std::size_t first_ = 0;  // index of the front
};

}  // namespace seqd
