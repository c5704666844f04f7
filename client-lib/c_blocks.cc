// The C ABI of seqd_blocks.h: how a thread finds its own blocks, and what it leaves when it
// ends. No exception leaves.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "client-lib/blocks/blocks.h"
#include "client-lib/c_handle.h"
#include "client-lib/seqd_blocks.h"

using namespace seqd::engine;

struct seqd_blocks {
  std::shared_ptr<Blocks> blocks;
};

namespace {

constexpr std::size_t kFound = 4;  // handles that a thread finds at once
constexpr std::size_t kTextBytes = 512;

struct Found {
  std::uint64_t serial = 0;
  ThreadBlocks* blocks = nullptr;
};

// A few bytes beside the thread's own registers: no call finds them, also in a library that is
// loaded later.
[[gnu::tls_model("initial-exec")]] constinit thread_local Found t_found[kFound];
// The thread is ending, and its blocks are free for other threads: from here on it uses the shared
// ones.
constinit thread_local bool t_left = false;
constinit thread_local char t_text[kTextBytes] = "";

// Frees the blocks of this thread for other threads when it ends.
class Departure {
 public:
  Departure() = default;
  ~Departure() {
    const NoCancellation whole;  // it may be the last one that has the blocks
    t_left = true;
    std::fill(std::begin(t_found), std::end(t_found), Found());
    for (const auto& [weak, own] : own_) {
      const std::shared_ptr<Blocks> blocks = weak.lock();
      // After fork() a lock that the parent held stays locked in the child for ever.
      if (blocks != nullptr && !blocks->is_forked()) blocks->leave(own);
    }
  }
  Departure(const Departure&) = delete;
  Departure& operator=(const Departure&) = delete;

  // This thread's blocks of the handle; null: it shares.
  ThreadBlocks* find(const std::shared_ptr<Blocks>& blocks) {
    for (const auto& [weak, own] : own_)
      if (!weak.owner_before(blocks) && !blocks.owner_before(weak)) return own;
    std::erase_if(own_, [](const Own& one) { return one.blocks.expired(); });
    own_.reserve(own_.size() + 1);
    ThreadBlocks* const own = blocks->enter();
    if (own != nullptr) own_.push_back({blocks, own});
    return own;
  }

 private:
  struct Own {
    std::weak_ptr<Blocks> blocks;
    ThreadBlocks* own;
  };
  std::vector<Own> own_;
};

thread_local Departure t_departure;

int fail_here(const Outcome& outcome) {
  const std::size_t size = std::min(outcome.text.size(), kTextBytes - 1);
  std::memcpy(t_text, outcome.text.data(), size);
  t_text[size] = '\0';
  return outcome.code;
}

template <typename Body>
int guarded_here(Body body) {
  const NoCancellation whole;
  try {
    const Outcome outcome = body();
    // An ID that came without a block has the reason.
    return outcome.ok() && outcome.text.empty() ? SEQD_OK : fail_here(outcome);
  } catch (...) {
    return fail_here({SEQD_E_MEMORY, "out of memory"});
  }
}

[[gnu::noinline]] int refuse_null() {
  return fail_here(argument("blocks or id is NULL"));
}

// If the block of the thread has no ID left.
[[gnu::noinline]] int next_slowly(const std::shared_ptr<Blocks>& blocks, std::int64_t* id,
                                  bool may_wait) {
  return guarded_here([&]() -> Outcome {
    if (blocks->is_forked())
      return {SEQD_E_FORKED, "these blocks belong to the parent process: open some after fork()"};
    ThreadBlocks* const own = t_left ? nullptr : t_departure.find(blocks);
    if (own == nullptr) return may_wait ? blocks->next_shared(*id) : blocks->try_next_shared(*id);
    t_found[blocks->serial() % kFound] = {blocks->serial(), own};
    return may_wait ? own->next(*id) : own->try_next(*id);
  });
}

// In both functions: a jump is much of what an ID costs.
[[gnu::always_inline]] inline int take(seqd_blocks* blocks, std::int64_t* id, bool may_wait) {
  if (blocks == nullptr || id == nullptr) [[unlikely]]
    return refuse_null();
  const Blocks& handle = *blocks->blocks;
  const Found& found = t_found[handle.serial() % kFound];
  if (found.serial == handle.serial() && handle.is_surely_not_forked() && found.blocks->take(*id))
    return SEQD_OK;
  return next_slowly(blocks->blocks, id, may_wait);
}

}  // namespace

int seqd_blocks_open(const seqd_options* options, const char* name, seqd_blocks** blocks) {
  if (blocks == nullptr) return fail_here(argument("blocks is NULL"));
  *blocks = nullptr;
  return guarded_here([&] {
    auto made = std::make_unique<seqd_blocks>();
    ClientOptions read;
    Outcome outcome = read_options(options, read);
    if (outcome.ok()) outcome = check_name(name);
    if (outcome.ok()) outcome = Blocks::open(read, name, made->blocks);
    if (outcome.ok()) *blocks = made.release();
    return outcome;
  });
}

int seqd_blocks_next(seqd_blocks* blocks, int64_t* id) {
  return take(blocks, id, true);
}

int seqd_blocks_try_next(seqd_blocks* blocks, int64_t* id) {
  return take(blocks, id, false);
}

void seqd_blocks_close(seqd_blocks* blocks) {
  const NoCancellation whole;
  if (blocks != nullptr && blocks->blocks->is_forked())
    blocks->blocks->leave_to_parent();
  else
    delete blocks;
}

const char* seqd_blocks_last_error(void) {
  return t_text;
}
