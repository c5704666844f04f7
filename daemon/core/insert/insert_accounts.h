// InsertAccounts: what is known of all sequences that insert without walking past them: how many
// documents wait and were inserted, how many bytes they take, by user, and which queues a session
// waits in. Owned by the InsertQueues; loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/fair_share.h"
#include "daemon/core/words/caller.h"

namespace seqd {

class RequestQueue;

class InsertAccounts {
 public:
  // Bytes of all documents that wait or are at the store; a user alone may have half of them.
  static constexpr std::int64_t kMostBytes = 128 << 20;
  // What a document is counted with beside its own bytes.
  static constexpr std::int64_t kEntryBytes = 512;

  // A document that is counted, until this is destroyed: so it is returned on every path.
  class Place {
   public:
    Place(InsertAccounts& accounts, RequestQueue& queue, FairShare& places, SessionId session,
          UserId user, std::int64_t bytes);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // The session is gone; the document still takes its bytes.
    void leave_session();

   private:
    InsertAccounts& accounts_;
    RequestQueue* const queue_;
    FairShare& places_;
    const SessionId session_;
    const UserId user_;
    const std::int64_t bytes_;
    bool of_session_ = true;
  };

  // Null: the user has its share, or there is no room. `places` are those of the queue, of which
  // the document takes one; they outlive it.
  std::unique_ptr<Place> add(RequestQueue& queue, FairShare& places, SessionId session, UserId user,
                             std::size_t document);
  void inserted() { ++inserted_; }

  std::int64_t waiting() const { return waiting_; }
  std::int64_t total_inserted() const { return inserted_; }
  std::int64_t bytes() const { return bytes_.used(); }
  std::vector<RequestQueue*> waited_for_by(SessionId session) const;

 private:
  FairShare bytes_{kMostBytes, 1};
  std::int64_t waiting_ = 0;
  std::int64_t inserted_ = 0;
  std::map<std::pair<SessionId, RequestQueue*>, std::int64_t> waits_;  // how many documents
};

}  // namespace seqd
