// NextWriter: writes `next` requests. Most requests of a program are the same again but for the
// number, so what stands behind that is kept. Owned by a Session; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/buffer.h"
#include "protocol/requests.h"

namespace seqd::engine {

class NextWriter {
 public:
  // `name` is not empty.
  void write(protocol::Buffer& out, std::uint32_t number, const std::string& name,
             std::optional<std::int64_t> wait_ms) {
    if (wait_ms_ != wait_ms || name_ != name) {
      name_.clear();  // until all of it is there: memory may end
      rest_.clear();
      protocol::append_next_rest(rest_, name, wait_ms);
      wait_ms_ = wait_ms;
      name_ = name;
    }
    protocol::append_with_rest(out, number, rest_.text());
  }

 private:
  std::string name_;  // empty: nothing is kept
  std::optional<std::int64_t> wait_ms_;
  protocol::Buffer rest_;
};

}  // namespace seqd::engine
