// BlockingStore: the interface of one central store, with blocking calls. Each verb has its own
// time-outs and returns within them. The calls of one store may come from several worker threads at
// once, up to `concurrency()`, and `insert_concurrency()` inserts beside them. Terms and guarantees
// are those of daemon/core/leasing/lease_store.h; the same contract test runs against every
// implementation.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/core/insert/insert_store.h"
#include "daemon/core/leasing/lease_store.h"
#include "daemon/core/registers/register_store.h"
#include "daemon/core/upkeep/purge_store.h"

namespace seqd {

class BlockingStore {
 public:
  virtual ~BlockingStore() = default;
  // Does not block. May be called while the other verbs run in other threads.
  virtual Token new_token(Random& random, const CounterBinding&) { return random_token(random); }
  // How leases are traced at present: "session", "slot", "plain" or "transaction" (PROTOCOL.md,
  // status), and a sentence that says why. Empty: not known yet. Does not block, as above.
  struct LeaseMode {
    std::string word;
    std::string reason;
    bool operator==(const LeaseMode&) const = default;
  };
  virtual LeaseMode lease_mode() const = 0;
  // Does not block, as above.
  virtual StorePlace place() const = 0;
  virtual Result<Token> identify(const Token& candidate) = 0;
  virtual LeaseOutcome lease(const LeaseRequest& request) = 0;
  // The same for each request, in order. A refused lease does not affect the others; a failed
  // commit affects all. At most leases_together() requests, which is constant; 1: batching gains
  // nothing.
  virtual std::vector<LeaseOutcome> lease_all(std::span<const LeaseRequest> requests);
  virtual std::size_t leases_together() const { return 1; }
  virtual Resolution resolve(const LeaseRequest& request) = 0;
  // The same for each request, in order. At most leases_together() requests. After a failed commit
  // the leases that were not found are still open.
  virtual std::vector<Resolution> resolve_all(std::span<const LeaseRequest> requests);
  virtual Result<ClaimOutcome> claim(const ClaimRequest& request) = 0;
  virtual Result<BeatOutcome> beat(const BeatRequest& request) = 0;
  virtual Result<CounterReading> read(const ReadRequest& request) = 0;
  virtual Result<std::int64_t> advance(const AdvanceRequest& request) = 0;
  // Once at a start: the former instance of this state directory, whose remainder was forfeited.
  // Transactions that it left open in the store may be ended; no outcome depends on that.
  virtual void abandoned(const Token& /*instance*/) {}
  virtual ReturnOutcome return_range(const ReturnRequest& request) = 0;
  // The same for each request, in order. At most leases_together() requests. A failed commit fails
  // all of them.
  virtual std::vector<ReturnOutcome> return_all(std::span<const ReturnRequest> requests);
  // Work that earlier calls made due and no request waits for: the removal of records of hosts that
  // no longer exist. A call takes some seconds at most. has_chores() does not block, as above.
  virtual bool has_chores() const { return false; }
  virtual void do_chores() {}
  virtual Result<InstanceRecords> forget(const ForgetRequest& request) = 0;
  // See InsertStore and PurgeStore. Here they are for stores that cannot.
  virtual std::vector<InsertOutcome> insert(const InsertBatch& batch);
  virtual Result<CounterPage> find_counters(const CounterQuery& query);
  virtual std::vector<RemovalOutcome> remove_counters(const CounterRemoval& removal);
  // See daemon/core/registers/register_store.h. Here they are for stores that keep none.
  virtual Result<RegisterReading> read_register(const RegisterQuery& query);
  virtual RegisterOutcome write_register(const RegisterWrite& write);
  virtual Result<std::vector<NumberRecord>> list_register(const RegisterPageQuery& query);
  // How many calls may run at the same time, >= 1. Constant.
  virtual int concurrency() const = 0;
  // How many inserts may run beside them; they may look for an outcome for long. 0: it inserts
  // nothing. Constant.
  virtual int insert_concurrency() const { return 0; }
};

}  // namespace seqd
