// InsertQueue: the documents that one sequence is to insert. One batch is in flight at a time;
// later documents join the next one, so one read of the highest _id serves many. If another
// program took an _id first, it is retried after a pause with jitter. Owned by InsertQueues; loop
// thread.
//
// Invariant: a document is sent again only when the store has proven that it was not inserted, or
// when a field of it that is unique in the collection keeps it from being inserted twice.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/backoff.h"
#include "daemon/base/fair_share.h"
#include "daemon/base/one_shot.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/insert/insert_accounts.h"
#include "daemon/core/insert/insert_store.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

class InsertQueue {
 public:
  // Called once, never before add() returned; never for a session that was cancelled.
  using Done = std::function<void(Result<std::int64_t>)>;

  struct Request {
    SessionId session = 0;
    std::string document;          // one MessagePack map
    std::string unique;            // see InsertItem
    std::int64_t timeout_ms = -1;  // until it is sent to the store; < 0: the sequence's own
    Done done;
    UserId user = 0;
  };

  static constexpr std::size_t kMostDocuments = 500;       // of a batch
  static constexpr std::size_t kMostBatchBytes = 1 << 20;  // of a batch, unless one alone has more
  static constexpr int kMostTries = 1'000;  // of a document, that others were faster with

  // `store` is that of the settings; all outlive this.
  InsertQueue(const CoreContext& context, const SettingsSource& settings, InsertAccounts& accounts,
              std::string name, InsertStore& store);

  // An error: it is not queued, and `done` is not called.
  Status add(Request request);
  // The waiting documents of a session are forgotten, unless they are at the store already. If
  // `why` is not OK, they fail with it; then what is at the store is not sent again.
  void cancel(SessionId session, const Status& why = {});
  // Waiting requests fail with `why`; those at the store are still answered.
  void begin_stop(const Status& why);

  const std::string& name() const { return name_; }
  bool in_flight() const { return !sent_.empty(); }
  std::int64_t waiting() const { return static_cast<std::int64_t>(queue_.size() + sent_.size()); }
  std::int64_t inserted() const { return inserted_; }
  std::optional<std::int64_t> last() const { return last_; }  // the last _id used
  std::string_view state_name() const;
  const Status& error() const { return error_; }

 private:
  struct Entry;
  using Queue = std::list<Entry>;
  struct Entry {
    SessionId session = 0;  // 0: it is gone
    InsertItem item;
    std::int64_t deadline_ms = 0;
    int tries = 0;
    Status perhaps;  // not OK: an earlier try may have inserted it
    Status refused;  // not OK: it is not sent again
    Done done;
    std::unique_ptr<InsertAccounts::Place> place;
    // While it waits in queue_.
    std::multimap<std::int64_t, Queue::iterator>::iterator by_deadline;
    std::multimap<SessionId, Queue::iterator>::iterator by_session;
  };

  // The settings, or why documents cannot be inserted.
  Result<const SequenceSettings*> settings() const;
  void put(Queue::iterator before, Entry entry);
  Entry take(Queue::iterator at);
  void start();
  void answered(const std::vector<InsertOutcome>& outcomes);
  // True: the document goes back to the queue.
  bool settle(Entry& entry, const InsertOutcome& outcome);
  void pause(std::int64_t delay_ms);
  void expire();
  void arm_deadline();
  void fail_all(const Status& why);
  Status too_late(const Entry& entry) const;
  void unknown(const Entry& entry, const InsertOutcome& outcome);

  const CoreContext& context_;
  const SettingsSource& settings_;
  const std::string name_;
  InsertStore& store_;
  InsertAccounts& accounts_;
  FairShare places_{0, FairShare::kThreeQuarters};
  Queue queue_;
  std::multimap<std::int64_t, Queue::iterator> by_deadline_;
  std::multimap<SessionId, Queue::iterator> by_session_;
  std::vector<Entry> sent_;  // at the store
  Backoff backoff_;
  std::int64_t pause_limit_ms_ = 1;  // after a round that others won
  OneShot pause_timer_{context_.timers};
  OneShot deadline_timer_{context_.timers};
  std::int64_t deadline_ms_ = 0;  // when it fires
  std::int64_t inserted_ = 0;
  std::optional<std::int64_t> last_;
  Status error_;   // of the store, last; OK once it answers again
  Status ending_;  // the daemon ends: why
};

}  // namespace seqd
