// Ring: a queue whose places are used again, so that a steady flow allocates nothing. It grows by
// doubling and never shrinks; an element that goes gives its own memory back at once. Not for
// concurrent use.
//
// Invariant: `places_` is empty or a power of two long, and the elements are at head_, head_ + 1,
// ... modulo that length; every other place holds a T(), or what clear() makes of one.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace seqd::engine {

template <typename T>
class Ring {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Counted from the front; below size().
  T& operator[](std::size_t at) { return places_[(head_ + at) & mask_]; }
  const T& operator[](std::size_t at) const { return places_[(head_ + at) & mask_]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }

  // Without memory both throw and nothing has changed.
  void push_back(T&& element) { push_back() = std::move(element); }
  // An empty one; valid until the next call that is not const.
  T& push_back() {
    T& place = prepare_back();
    commit_back();
    return place;
  }
  // The place of the next one, to be written before commit_back() takes it over.
  T& prepare_back() {
    if (size_ > mask_ || places_.empty()) grow();
    return (*this)[size_];
  }
  void commit_back() { ++size_; }
  // It must not be empty.
  void pop_front() {
    if constexpr (requires(T & element) { element.clear(); })
      front().clear();
    else
      front() = T();
    head_ = (head_ + 1) & mask_;
    --size_;
  }

 private:
  static constexpr std::size_t kFirstPlaces = 16;

  // Seldom, so its code does not stand in what calls prepare_back().
  [[gnu::noinline]] void grow() {
    std::vector<T> larger(places_.empty() ? kFirstPlaces : 2 * places_.size());
    for (std::size_t at = 0; at < size_; ++at) larger[at] = std::move((*this)[at]);
    places_.swap(larger);
    mask_ = places_.size() - 1;
    head_ = 0;
  }

  std::vector<T> places_;
  std::size_t mask_ = 0;  // of their numbers; a division less than places_.size()
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace seqd::engine
