#include "protocol/buffer.h"

#include <algorithm>

namespace seqd::protocol {

void Buffer::make_room(std::size_t count) {
  constexpr std::size_t kSmallest = 256;
  const std::size_t used = size();
  // Moving to the front pays only when at least half is free: then the cost of moving is spread
  // over as many bytes as are moved.
  if (begin_ >= capacity_ / 2 && capacity_ - used >= count) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, used);
  } else {
    const std::size_t capacity = std::max({kSmallest, capacity_ * 2, used + count});
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (used > 0) std::memcpy(larger.get(), data(), used);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }
  begin_ = 0;
  end_ = used;
}

void Buffer::release() {
  bytes_.reset();
  capacity_ = 0;
}

}  // namespace seqd::protocol
