// seqd_blocks.h for C++: IDs taken inside this process. Header only, C++17, throws nothing of its
// own. Any number of threads may call next() at once.
//
//   seqd::client::Blocks blocks("orders");
//   if (auto id = blocks.next()) use(*id);
//   else complain(id.error().text);
#ifndef SEQD_BLOCKS_HPP
#define SEQD_BLOCKS_HPP

#include <cstdint>
#include <string>
#include <utility>

#include "seqd.hpp"
#include "seqd_blocks.h"

namespace seqd {
namespace client {

class Blocks {
 public:
  // Does not connect yet. If the options or the name are invalid, every next() returns the
  // error.
  explicit Blocks(const std::string& sequence, const Options& options = Options()) {
    seqd_options given = SEQD_OPTIONS_INIT;
    given.socket_path = options.socket_path.empty() ? nullptr : options.socket_path.c_str();
    given.name = options.name.c_str();
    given.timeout_ms = options.timeout.count();
    given.connect_timeout_ms = options.connect_timeout.count();
    given.flags = options.flags;
    given.busy_poll_us = options.busy_poll.count();
    const int code = seqd_blocks_open(&given, sequence.c_str(), &handle_);
    if (code != SEQD_OK) error_ = {code, seqd_blocks_last_error()};
  }
  // The IDs that were not taken are available again. No thread may be in next().
  ~Blocks() { seqd_blocks_close(handle_); }
  Blocks(Blocks&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), error_(std::move(other.error_)) {
    other.error_ = {SEQD_E_ARGUMENT, ""};
  }
  Blocks& operator=(Blocks&& other) noexcept {
    Blocks taken(std::move(other));
    std::swap(handle_, taken.handle_);
    std::swap(error_, taken.error_);
    return *this;
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  Result<std::int64_t> next() {
    if (handle_ == nullptr) return error_;
    std::int64_t id = 0;
    const int code = seqd_blocks_next(handle_, &id);
    if (code != SEQD_OK) return Error{code, seqd_blocks_last_error()};
    return id;
  }

  // Never waits: SEQD_E_UNAVAILABLE if this thread has no ID at hand.
  Result<std::int64_t> try_next() {
    if (handle_ == nullptr) return error_;
    std::int64_t id = 0;
    const int code = seqd_blocks_try_next(handle_, &id);
    if (code != SEQD_OK) return Error{code, seqd_blocks_last_error()};
    return id;
  }

  // For the functions of seqd_blocks.h; null if opening failed, or after a move.
  seqd_blocks* handle() { return handle_; }

 private:
  seqd_blocks* handle_ = nullptr;
  Error error_;
};

}  // namespace client
}  // namespace seqd

#endif
