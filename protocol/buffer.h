// Buffer: bytes on their way out (or in): appended at the back, consumed from the front. It grows
// by doubling, and gives memory above kKeptCapacity back when it becomes empty, so that one large
// reply does not stay allocated for ever. Owned by one connection; one thread.
//
// Invariant: begin_ <= end_ <= capacity_, and the bytes of the caller are [begin_, end_).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace seqd::protocol {

class Buffer {
 public:
  // Capacity that an empty buffer may keep.
  static constexpr std::size_t kKeptCapacity = 64 * 1024;

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() = default;

  const char* data() const { return bytes_.get() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  std::size_t capacity() const { return capacity_; }
  std::string_view text() const { return {data(), size()}; }
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(data()), size()};
  }

  // Room for `count` more bytes at the back, uninitialised; valid until the next call that is not
  // const. What was written there is taken over by commit().
  char* prepare(std::size_t count) {
    if (capacity_ - end_ < count) make_room(count);
    return bytes_.get() + end_;
  }
  // Takes over the first `count` bytes of the last prepare(); at most as many as requested there.
  void commit(std::size_t count) { end_ += count; }

  // The name msgpack::packer<Buffer> calls.
  void write(const char* bytes, std::size_t count) {
    if (count == 0) return;
    std::memcpy(prepare(count), bytes, count);
    commit(count);
  }
  void append(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  void append_byte(std::uint8_t byte) {
    *prepare(1) = static_cast<char>(byte);
    commit(1);
  }

  // Drops `count` bytes, at most size(), from the front. Moves nothing.
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ >= end_) clear();
  }
  // Drops everything behind the first `count` bytes; at most size().
  void truncate(std::size_t count) { end_ = begin_ + count; }
  // Drops everything.
  void clear() {
    begin_ = 0;
    end_ = 0;
    if (capacity_ > kKeptCapacity) release();
  }

  void swap(Buffer& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(capacity_, other.capacity_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
  }

 private:
  // Moves what there is to the front or to a larger block, so that `count` more bytes fit.
  void make_room(std::size_t count);
  void release();

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace seqd::protocol
