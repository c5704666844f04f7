// Blocks: a handle of seqd_blocks.h: the ThreadBlocks of all threads that take from it. A thread
// keeps its own until it ends; the next new thread then continues with it. Threads without a slot
// share one under a lock. Any thread, in the process that made it.
//
// Invariant: a ThreadBlocks is one thread's, idle, or the shared one.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client-lib/blocks/block_source.h"
#include "client-lib/blocks/thread_blocks.h"

namespace seqd::engine {

class Blocks {
 public:
  // Threads with slots of their own; two slots each, and two for all others.
  static constexpr std::size_t kOwn = protocol::kBlockSlots / 2 - 1;

  // Does not connect yet. SEQD_E_ARGUMENT: without an identity there are no blocks.
  static Outcome open(const ClientOptions& options, std::string name,
                      std::shared_ptr<Blocks>& blocks);
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // Of this process; never used again.
  std::uint64_t serial() const { return serial_; }
  bool is_forked() const { return mark_.is_copied(); }
  // False: call is_forked(). For the hot path.
  bool is_surely_not_forked() const { return mark_.is_surely_original(); }

  // Its own now; null: there are slots for no more threads.
  ThreadBlocks* enter();
  // Its thread does not take any more.
  void leave(ThreadBlocks* blocks);
  // In a child after fork(), instead of the destructor.
  void leave_to_parent() { source_.leave_to_parent(); }
  // An ID of the slots that threads share.
  Outcome next_shared(std::int64_t& id);
  // The same without waiting; see ThreadBlocks.
  Outcome try_next_shared(std::int64_t& id);

 private:
  Blocks(const ClientOptions& options, std::unique_ptr<Client> client, std::string name,
         bool revocable);

  const std::uint64_t serial_;
  const ProcessMark mark_;
  const std::int64_t timeout_ms_;
  BlockSource source_;
  std::mutex mutex_;  // guards own_ and idle_
  std::vector<std::unique_ptr<ThreadBlocks>> own_;
  std::vector<ThreadBlocks*> idle_;
  std::timed_mutex shared_mutex_;  // guards shared_; held while a thread waits with it
  ThreadBlocks shared_;
};

}  // namespace seqd::engine
