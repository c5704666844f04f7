// Opened: a handle of blocks of the C ABI that closes itself, and what to say of the IDs that it
// gave. One thread, except for the handle.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "client-lib/seqd_blocks.h"
#include "tests/adapters/client/block_daemon.h"

namespace seqd::testing {

// Of blocks; single IDs lie below.
inline constexpr std::int64_t kFirstOfBlocks = 1'000'000'000;

struct Opened {
  explicit Opened(BlockDaemon& daemon, std::int64_t timeout_ms = 20'000) {
    seqd_options options = SEQD_OPTIONS_INIT;
    options.socket_path = daemon.socket().path().c_str();
    options.timeout_ms = timeout_ms;
    const int code = seqd_blocks_open(&options, "orders", &blocks);
    INFO(seqd_blocks_last_error());
    REQUIRE(code == SEQD_OK);
  }
  ~Opened() { seqd_blocks_close(blocks); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  void close() {
    seqd_blocks_close(blocks);
    blocks = nullptr;
  }
  std::int64_t next() {
    std::int64_t id = 0;
    const int code = seqd_blocks_next(blocks, &id);
    INFO(seqd_error_name(code) << ": " << seqd_blocks_last_error());
    REQUIRE(code == SEQD_OK);
    return id;
  }
  std::vector<std::int64_t> take(int count) {
    std::vector<std::int64_t> ids;
    for (int at = 0; at < count; ++at) ids.push_back(next());
    return ids;
  }
  int code() {
    std::int64_t id = 0;
    return seqd_blocks_next(blocks, &id);
  }

  seqd_blocks* blocks = nullptr;
};

inline bool has_no_id_twice(std::vector<std::int64_t> ids) {
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

inline std::int64_t of_blocks(const std::vector<std::int64_t>& ids) {
  return std::count_if(ids.begin(), ids.end(), [](auto id) { return id >= kFirstOfBlocks; });
}

}  // namespace seqd::testing
