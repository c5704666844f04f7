// InsertQueue: the documents that one sequence is to insert. Those of one batch share one read of
// the highest _id. Owned by InsertQueues; loop thread.
//
// Invariant: a document is sent again only when the store has proven that it was not inserted, or
// when a field of it that is unique in the collection keeps it from being inserted twice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/insert/insert_store.h"
#include "daemon/core/insert/request_queue.h"

namespace seqd {

class InsertQueue final : public RequestQueue {
 public:
  // Called once, never before add() returned; never for a session that was cancelled.
  using Done = std::function<void(Result<std::int64_t>)>;

  struct Wanted {
    SessionId session = 0;
    std::string document;          // one MessagePack map
    std::string unique;            // see InsertItem
    std::int64_t timeout_ms = -1;  // until it is sent to the store; < 0: the sequence's own
    Done done;
    UserId user = 0;
  };

  // `store` is that of the settings; all outlive this.
  InsertQueue(const CoreContext& context, const SettingsSource& settings, InsertAccounts& accounts,
              std::string name, InsertStore& store);

  // An error: it is not queued, and `done` is not called.
  Status add(Wanted wanted);

  std::int64_t inserted() const { return inserted_; }
  std::optional<std::int64_t> last() const { return last_; }  // the last _id used

 private:
  struct Insert final : Request {
    void fail(const Status& why) override { done(why); }
    InsertItem item;
    Done done;
  };
  static Insert& as_insert(Request& request) { return static_cast<Insert&>(request); }

  Result<const SequenceSettings*> settings() const override;
  void send(std::int64_t patience_ms) override;
  Status too_late(const Request& request) const override;
  void answered(const std::vector<InsertOutcome>& outcomes);
  // True: the document waits again.
  bool settle(Insert& insert, const InsertOutcome& outcome);
  void unknown(const Insert& insert, const InsertOutcome& outcome);

  const SettingsSource& settings_;
  InsertStore& store_;
  InsertAccounts& accounts_;
  std::int64_t inserted_ = 0;
  std::optional<std::int64_t> last_;
};

}  // namespace seqd
