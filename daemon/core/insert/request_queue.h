// RequestQueue: the requests of one sequence for a store that carries out many at once. One batch
// is at the store at a time; later requests join the next one. If others were faster, a batch is
// tried again after a pause with jitter; if the store is away, less and less often. What a request
// asks for, and what the store's answer means for it, is known to the class that derives from
// this. Loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/backoff.h"
#include "daemon/base/fair_share.h"
#include "daemon/base/one_shot.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/insert/insert_accounts.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

class RequestQueue {
 public:
  class Request;
  using Requests = std::list<std::unique_ptr<Request>>;

  class Request {
   public:
    Request() = default;
    virtual ~Request() = default;
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
    virtual void fail(const Status& why) = 0;

    SessionId session = 0;  // 0: it is gone
    std::size_t bytes = 0;  // what it takes of a batch
    int tries = 0;          // that others were faster with
    Status perhaps;         // not OK: an earlier try may have been carried out
    Status refused;         // not OK: it is not sent again

   private:
    friend class RequestQueue;
    std::int64_t deadline_ms_ = 0;
    std::unique_ptr<InsertAccounts::Place> place_;
    // While it waits.
    std::multimap<std::int64_t, Requests::iterator>::iterator by_deadline_;
    std::multimap<SessionId, Requests::iterator>::iterator by_session_;
  };

  static constexpr std::size_t kMostRequests = 500;        // of a batch
  static constexpr std::size_t kMostBatchBytes = 1 << 20;  // of a batch, unless one alone has more
  static constexpr int kMostTries = 1'000;  // of a request, that others were faster with

  // `noun`: what waits, in texts. `accounts` outlives this.
  RequestQueue(const CoreContext& context, InsertAccounts& accounts, std::string name,
               const char* noun)
      : context_(context), name_(std::move(name)), noun_(noun), accounts_(accounts) {}
  virtual ~RequestQueue() = default;
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  // The waiting requests of a session are forgotten, unless they are at the store already. If `why`
  // is not OK, they fail with it; then what is at the store is not sent again.
  void cancel(SessionId session, const Status& why = {});
  // Waiting requests fail with `why`; those at the store are still answered.
  void begin_stop(const Status& why);

  const std::string& name() const { return name_; }
  bool in_flight() const { return !sent_.empty(); }
  std::int64_t waiting() const { return static_cast<std::int64_t>(queue_.size() + sent_.size()); }
  std::string_view state_name() const;
  const Status& error() const { return error_; }

 protected:
  // How a batch went. The last two decide on the pause.
  struct Round {
    bool any = false;        // one was carried out
    bool failed = false;     // the store cannot at present
    bool contended = false;  // others were faster
  };

  // The settings, or why nothing can be requested at present; then all that wait fail.
  virtual Result<const SequenceSettings*> settings() const = 0;
  // The requests of sent() are to go to the store, which may look for an unknown outcome so long.
  // end_round() follows once, never before this returned.
  virtual void send(std::int64_t patience_ms) = 0;
  virtual Status too_late(const Request& request) const = 0;

  // An error: it is not queued, and does not hear of it. `timeout_ms` < 0: the sequence's own.
  Status add(std::unique_ptr<Request> request, UserId user, std::int64_t timeout_ms);
  const std::vector<std::unique_ptr<Request>>& sent() const { return sent_; }
  // `settle` answers each request of sent(), by its index, or says true: it waits again. It may
  // change `round`.
  void end_round(Round& round, const std::function<bool(Request&, std::size_t)>& settle);
  void note_error(const Status& error) { error_ = error; }

  const CoreContext& context_;

 private:
  void put(Requests::iterator before, std::unique_ptr<Request> request);
  std::unique_ptr<Request> take(Requests::iterator at);
  void start();
  void pause(std::int64_t delay_ms);
  void expire();
  void arm_deadline();
  void fail_all(const Status& why);

  const std::string name_;
  const char* const noun_;
  InsertAccounts& accounts_;
  FairShare places_{0, FairShare::kThreeQuarters};
  Requests queue_;
  std::multimap<std::int64_t, Requests::iterator> by_deadline_;
  std::multimap<SessionId, Requests::iterator> by_session_;
  std::vector<std::unique_ptr<Request>> sent_;  // at the store
  Backoff backoff_;
  std::int64_t pause_limit_ms_ = 1;  // after a round that others won
  OneShot pause_timer_{context_.timers};
  OneShot deadline_timer_{context_.timers};
  std::int64_t deadline_ms_ = 0;  // when it fires
  Status error_;                  // of the store, last; OK once it answers again
  Status ending_;                 // the daemon ends: why
};

}  // namespace seqd
