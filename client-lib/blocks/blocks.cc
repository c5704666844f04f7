#include "client-lib/blocks/blocks.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <utility>

namespace seqd::engine {
namespace {

std::atomic<std::uint64_t> serials{0};

// From now on the daemon's membarrier(2) reaches this process, too.
bool register_for_barriers() {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

}  // namespace

Outcome Blocks::open(const ClientOptions& options, std::string name,
                     std::shared_ptr<Blocks>& blocks) {
  if (options.anonymous)
    return {SEQD_E_ARGUMENT, "blocks need an identity: leave SEQD_ANONYMOUS out"};
  std::unique_ptr<Client> client;
  Outcome outcome = Client::open(options, client);
  if (!outcome.ok()) return outcome;
  blocks.reset(new Blocks(options, std::move(client), std::move(name), register_for_barriers()));
  return {};
}

Blocks::Blocks(const ClientOptions& options, std::unique_ptr<Client> client, std::string name,
               bool revocable)
    : serial_(serials.fetch_add(1, std::memory_order_relaxed) + 1),
      timeout_ms_(options.timeout_ms),
      source_(std::move(client), std::move(name), revocable),
      shared_(source_, kOwn * 2, options.timeout_ms) {
  // leave() allocates nothing: a thread's end is no place for an error.
  own_.reserve(kOwn);
  idle_.reserve(kOwn);
}

ThreadBlocks* Blocks::enter() {
  const std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    ThreadBlocks* const blocks = idle_.back();
    idle_.pop_back();
    return blocks;
  }
  if (own_.size() == kOwn) return nullptr;
  const auto slot = static_cast<std::uint32_t>(own_.size() * 2);
  own_.push_back(std::make_unique<ThreadBlocks>(source_, slot, timeout_ms_));
  return own_.back().get();
}

void Blocks::leave(ThreadBlocks* blocks) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(blocks);
}

Outcome Blocks::next_shared(std::int64_t& id) {
  const std::unique_lock lock(shared_mutex_, std::chrono::milliseconds(timeout_ms_));
  if (!lock.owns_lock())
    return {SEQD_E_TIMEOUT, "the slots that threads share are in use by threads that wait for IDs"};
  return shared_.next(id);
}

Outcome Blocks::try_next_shared(std::int64_t& id) {
  const std::unique_lock lock(shared_mutex_, std::try_to_lock);
  if (!lock.owns_lock())
    return {SEQD_E_UNAVAILABLE, "another thread takes from the slots that threads share"};
  return shared_.try_next(id);
}

}  // namespace seqd::engine
