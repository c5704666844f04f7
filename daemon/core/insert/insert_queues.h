// InsertQueues: all sequences that insert documents. They lease nothing, have nothing available and
// write nothing into the log: the collection is the book, its highest _id the counter. A sequence
// is made when it is first used and never removed. Owned by the daemon; loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/insert/insert_queue.h"

namespace seqd {

class InsertQueues {
 public:
  // The stores of the configuration that can insert, by name. They outlive this.
  using Stores = std::map<std::string, InsertStore*>;

  struct View {
    std::string name;
    std::string store;
    const InsertQueue* queue = nullptr;
  };

  InsertQueues(const CoreContext& context, const SettingsSource& settings, Stores stores,
               std::size_t most_sequences);

  // See InsertQueue::add(). The name is well-formed.
  Status insert(std::string_view name, InsertQueue::Wanted wanted);
  // Null: not used yet.
  const InsertQueue* find(std::string_view name) const;
  std::optional<View> view(std::string_view name) const;  // the same
  // In the order of their names: all, and at most so many of those behind the name `after`.
  std::vector<View> list() const;
  std::vector<View> list(std::string_view after, std::size_t most) const;

  // Drops what the session waits for. With `why`: only where that is an error, which is the answer.
  void cancel(SessionId session, const Refusal& why = {});
  void begin_stop(const Status& why);
  bool settled() const;
  // Of all sequences, in constant time.
  std::size_t size() const { return queues_.size(); }
  std::int64_t waiting() const { return accounts_.waiting(); }
  std::int64_t inserted() const { return accounts_.total_inserted(); }
  // Names the run of the daemon: random, new with each start.
  const std::string& run() const { return run_; }

 private:
  struct Held {
    std::string store;
    std::unique_ptr<InsertQueue> queue;
  };
  Result<InsertQueue*> open(std::string_view name);

  const CoreContext context_;
  const SettingsSource& settings_;
  const Stores stores_;
  const std::size_t most_sequences_;
  const std::string run_;
  InsertAccounts accounts_;
  std::map<std::string, Held, std::less<>> queues_;
  Status ending_;
};

}  // namespace seqd
