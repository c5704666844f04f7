// BlockSource: where the threads of one handle get their blocks: one connection to the daemon, the
// page, and the requests under way. Any thread; each call is short but wait(). A thread that waits
// also sends and receives for the others; the library has no thread of its own.
//
// Invariant: the lock is never held while a thread sleeps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "client-lib/blocks/block_back_off.h"
#include "client-lib/blocks/block_order.h"
#include "client-lib/blocks/block_page.h"
#include "client-lib/client.h"

namespace seqd::engine {

class BlockSource {
 public:
  // `revocable`: the daemon can stop this process from taking; without that there are no blocks.
  BlockSource(std::unique_ptr<Client> client, std::string name, bool revocable);
  ~BlockSource();
  BlockSource(const BlockSource&) = delete;
  BlockSource& operator=(const BlockSource&) = delete;

  // Requests a block of at most `count` IDs in `slot`, or an ID. The order is in state `none`
  // before.
  void ask_block(BlockOrder& order, std::uint32_t slot, std::int64_t count);
  void ask_next(BlockOrder& order);
  // The same, unless another thread is in here: then false.
  bool try_ask_block(BlockOrder& order, std::uint32_t slot, std::int64_t count);
  // Waits until the order has its answer, or its failure: true; or `until_ms`: false, and it may
  // still come.
  bool wait(BlockOrder& order, std::int64_t until_ms);
  bool is_answered(const BlockOrder& order);
  // The same, after a look at what has arrived; never waits.
  bool has_arrived(BlockOrder& order);

  // Of an order with an answer, which is in state `none` again: its outcome. Of a block that may be
  // taken from, `page` is where it lies; null: it has ended since, or its page is not known.
  Outcome collect(BlockOrder& order, std::shared_ptr<BlockPage>& page);
  // Why an order has no answer yet.
  Outcome late();
  // In a child after fork(); see Client. Threads of the parent may have held the lock, or waited.
  void leave_to_parent() { client_->leave_to_parent(); }
  // Changes with each connection: a refusal on an earlier one does not apply to a later one.
  std::uint64_t generation();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void ask(BlockOrder& order, Request&& request);
  void ask_block_locked(BlockOrder& order, std::uint32_t slot, std::int64_t count);
  void ask_page();
  // One step of the connection, without waiting, and the answers that came of it.
  void drive();
  void drive_surely();
  void send();
  void sleep(Lock& lock, std::int64_t until_ms);
  void settle(BlockOrder& order, const Answer& answer);
  Outcome read(BlockOrder& order, const Answer& answer);
  Outcome read_page(const Answer& answer);
  // After an exception: there is no memory.
  void fail(BlockOrder& order);

  const std::string name_;
  const bool revocable_;
  std::mutex mutex_;  // guards everything below, and the orders
  std::condition_variable changed_;
  std::unique_ptr<Client> client_;
  bool driven_ = false;  // a thread sleeps at the socket, for all
  std::shared_ptr<BlockPage> page_;
  Outcome no_page_;            // why there is none, if it was requested
  bool unattachable_ = false;  // this process cannot attach the page that the daemon reported
  BlockOrder page_order_;
  std::uint64_t
      page_generation_;  // of the connection on which the daemon reported the page, or an error
  std::int64_t page_again_ms_ = 0;  // not before, on that connection
  BlockBackOff page_back_off_;
};

}  // namespace seqd::engine
