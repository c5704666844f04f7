// BlockThreads: threads that take from a handle of blocks: what they took, and the error that one
// of them got. One thread, except for those; join() them before the end.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "client-lib/seqd_blocks.h"

namespace seqd::testing {

struct BlockThreads {
  std::vector<std::thread> running;
  std::vector<std::vector<std::int64_t>> ids;
  std::atomic<int> failed{SEQD_OK};

  void start(seqd_blocks* blocks, int threads, int count) {
    ids.resize(static_cast<std::size_t>(threads));
    for (auto& own : ids) {
      running.emplace_back([this, blocks, count, &own] {
        for (int at = 0; at < count; ++at) {
          std::int64_t id = 0;
          const int code = seqd_blocks_next(blocks, &id);
          if (code != SEQD_OK) {
            failed = code;
            return;
          }
          own.push_back(id);
        }
      });
    }
  }
  std::vector<std::int64_t> join() {
    std::vector<std::int64_t> all;
    for (std::thread& one : running) one.join();
    for (const auto& own : ids) all.insert(all.end(), own.begin(), own.end());
    REQUIRE(failed == SEQD_OK);
    return all;
  }
};

}  // namespace seqd::testing
