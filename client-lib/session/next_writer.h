// NextWriter: writes `next` requests. Most requests of a program are the same again but for the
// number, so what stands behind that is kept. Owned by a Session; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "protocol/buffer.h"
#include "protocol/requests.h"

namespace seqd::engine {

class NextWriter {
 public:
  // What the requests of write() are from here on. `name` is not empty.
  void set(const std::string& name, std::optional<std::int64_t> wait_ms) {
    if (wait_ms_ == wait_ms && name_ == name) return;
    name_.clear();  // until all of it is there: memory may end
    rest_.clear();
    protocol::append_next_rest(rest_, name, wait_ms);
    wait_ms_ = wait_ms;
    name_ = name;
  }
  // How many of them find room in so many bytes.
  std::size_t fitting(std::size_t bytes) const {
    return bytes / (protocol::kFrontRoom + rest_.size());
  }
  // Writes `count` requests, from `number` on.
  void write(protocol::Buffer& out, std::uint32_t number, std::size_t count) {
    protocol::append_with_rest(out, number, count, rest_.text());
  }

 private:
  std::string name_;  // empty: nothing is kept
  std::optional<std::int64_t> wait_ms_;
  protocol::Buffer rest_;
};

}  // namespace seqd::engine
