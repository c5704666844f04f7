// libseqd on seqd, with IDs that are taken inside this process: seqd_blocks_next by all threads on
// one handle. --address is the daemon's socket; --variant 100 takes from blocks of at most so many
// IDs, which the library chooses itself otherwise: below its C functions, with a thread's blocks on
// a connection of its own.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "client-lib/blocks/thread_blocks.h"
#include "client-lib/client.h"
#include "client-lib/seqd_blocks.h"
#include "tests/bench/peers/peer.h"

namespace seqd::bench {
namespace {

constexpr std::size_t kBatch = 1'000;
constexpr std::int64_t kPatienceMs = 10'000;

// Takes a batch with `next`, which returns one ID.
template <typename Next>
void take_many(Next next) {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t at = 0; at < kBatch; ++at) lowest = std::min(lowest, next());
  check_id(lowest);
}

// The handle that all threads share.
class Handle {
 public:
  explicit Handle(const Options& options) {
    seqd_options settings = SEQD_OPTIONS_INIT;
    settings.socket_path = options.address.c_str();
    settings.timeout_ms = kPatienceMs;
    if (seqd_blocks_open(&settings, options.name.c_str(), &blocks_) != SEQD_OK)
      fail(seqd_blocks_last_error());
  }
  ~Handle() { seqd_blocks_close(blocks_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  std::int64_t next() {
    std::int64_t id = 0;
    if (seqd_blocks_next(blocks_, &id) != SEQD_OK) fail(seqd_blocks_last_error());
    return id;
  }

 private:
  seqd_blocks* blocks_ = nullptr;
};

class Shared final : public Client {
 public:
  explicit Shared(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {}
  void take() override { check_id(handle_->next()); }
  std::size_t batch() const override { return kBatch; }
  void take_batch() override {
    take_many([this] { return handle_->next(); });
  }

 private:
  const std::shared_ptr<Handle> handle_;
};

std::unique_ptr<engine::Client> open_client(const Options& options) {
  engine::ClientOptions settings;
  settings.socket_path = options.address;
  settings.timeout_ms = kPatienceMs;
  std::unique_ptr<engine::Client> client;
  const engine::Outcome outcome = engine::Client::open(settings, client);
  if (!outcome.ok()) fail(outcome.text);
  return client;
}

class Bounded final : public Client {
 public:
  explicit Bounded(const Options& options)
      : source_(open_client(options), options.name,
                ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0),
        blocks_(source_, 0, kPatienceMs,
                engine::BlockSize(std::strtoll(options.variant.c_str(), nullptr, 10))) {}
  void take() override { check_id(next()); }
  std::size_t batch() const override { return kBatch; }
  void take_batch() override {
    take_many([this] { return next(); });
  }

 private:
  std::int64_t next() {
    std::int64_t id = 0;
    if (blocks_.take(id)) return id;
    const engine::Outcome outcome = blocks_.next(id);
    if (!outcome.ok()) fail(outcome.text);
    return id;
  }

  engine::BlockSource source_;
  engine::ThreadBlocks blocks_;
};

std::unique_ptr<Client> connect(const Options& options) {
  if (!options.variant.empty()) return std::make_unique<Bounded>(options);
  static const auto handle = std::make_shared<Handle>(options);
  return std::make_unique<Shared>(handle);
}

}  // namespace
}  // namespace seqd::bench

int main(int argc, char** argv) {
  return seqd::bench::run_peer(argc, argv, seqd::bench::connect);
}
