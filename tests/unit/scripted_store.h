// ScriptedStore: a central store in memory with real counters, leases found by their token and
// epochs that are compared and set. It outlives every process. Each verb takes effect when it is
// called and answers when the test delivers it; the next answers can be scripted. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/leasing/lease_store.h"
#include "tests/unit/memory_log.h"

namespace seqd {

// What the database of a ScriptedStore holds: a backup is a copy of it.
struct ScriptedContents {
  std::map<std::string, std::int64_t> next_id;  // by key; 1 when it is not there
  std::map<std::string, std::int64_t> floors;
  std::map<Token, std::pair<std::int64_t, std::int64_t>> granted;
  std::map<Token, std::pair<std::uint64_t, Token>> epochs;
  std::map<Token, std::int64_t> heartbeats;
  std::map<Token, bool> returned;  // by the return's token; false: made void
  // By key: ranges that were returned for others, by their begin.
  std::map<std::string, std::map<std::int64_t, std::int64_t>> parked;
  std::set<Token> took_parked;  // leases
  // By key: whose lease of how many IDs, in order. `totals_since` has the first ID of the first.
  std::map<std::string, std::vector<std::pair<Token, std::int64_t>>> counted;
  std::map<std::string, std::int64_t> totals_since;
};

class ScriptedStore final : public LeaseStore, public ScriptedContents {
 public:
  struct LeaseScript {
    enum class Kind { grant, refuse, unknown_applied, unknown_lost, wrong };
    Kind kind = Kind::grant;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
    std::int64_t begin = 0;  // of a wrong grant
    std::int64_t end = 0;
    bool contended = false;  // refuse: others were faster
    bool late = false;       // the answer waits for deliver_late()
  };
  struct ResolveScript {
    enum class Kind { truth, failed, untraceable, wrong };
    Kind kind = Kind::truth;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct ClaimScript {
    enum class Kind { truth, failed, failed_applied, lost };
    Kind kind = Kind::truth;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
  };

  // Checks, when `log` is given, that what has to be durable before a call is durable.
  explicit ScriptedStore(const MemoryLog* log = nullptr) : log_(log) {}

  StorePlace place() const override {
    return {where, has_identity ? std::optional(identity) : std::nullopt};
  }
  void identify(const Token& candidate, std::function<void(Result<Token>)> done) override;
  void lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) override;
  void resolve(const LeaseRequest& request, std::function<void(Resolution)> done) override;
  void claim(const ClaimRequest& request, std::function<void(Result<ClaimOutcome>)> done) override;
  void beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) override;
  void read(const ReadRequest& request, std::function<void(Result<CounterReading>)> done) override;
  void advance(const AdvanceRequest& request,
               std::function<void(Result<std::int64_t>)> done) override;
  void return_range(const ReturnRequest& request, std::function<void(ReturnOutcome)> done) override;
  void forget(const ForgetRequest& request,
              std::function<void(Result<InstanceRecords>)> done) override;

  std::size_t pending() const { return answers_.size(); }
  // Gives the oldest answer that waits. False when there is none.
  bool deliver();
  bool deliver_late();  // the same of those that are late
  // The process that asked is gone.
  void drop_pending() {
    answers_.clear();
    late_.clear();
  }

  struct IdentityScript {
    enum class Kind { truth, failed };
    Kind kind = Kind::truth;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
  };
  struct AdvanceScript {
    enum class Kind { truth, failed };
    Kind kind = Kind::truth;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
  };
  struct ReturnScript {
    enum class Kind { truth, failed_applied, failed_lost };
    Kind kind = Kind::truth;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
    bool contended = false;  // failed: others were faster
  };
  struct ForgetScript {
    enum class Kind { truth, failed_applied, failed_lost };
    Kind kind = Kind::truth;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
  };
  struct BeatScript {
    // copy: the store knows by other means than the heartbeat that it is an older copy.
    enum class Kind { truth, failed, copy };
    Kind kind = Kind::truth;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
    bool late = false;  // as of a lease
  };
  struct ReadScript {
    enum class Kind { truth, failed };
    Kind kind = Kind::truth;
    Status error{ErrorCode::UNAVAILABLE, "the store is away"};
  };

  // Empty: the truth.
  std::deque<IdentityScript> identities;
  std::deque<LeaseScript> leases;
  std::deque<ResolveScript> resolutions;
  std::deque<ClaimScript> claims;
  std::deque<BeatScript> beats;
  std::deque<ReadScript> readings;
  std::deque<AdvanceScript> advances;
  std::deque<ReturnScript> returns;
  std::deque<ForgetScript> forgets;

  std::vector<LeaseRequest> lease_calls, resolve_calls;
  std::vector<ClaimRequest> claim_calls;
  std::vector<BeatRequest> beat_calls;
  std::vector<ReadRequest> read_calls;
  std::vector<AdvanceRequest> advance_calls;
  std::vector<ReturnRequest> return_calls;
  std::vector<ForgetRequest> forget_calls;

  std::string where = "memory";
  Token identity{1};
  bool has_identity = true;  // without a call
  int identity_calls = 0;

 private:
  LeaseOutcome apply(const LeaseRequest& request);
  ClaimOutcome apply(const ClaimRequest& request);
  BeatOutcome apply(const BeatRequest& request);
  CounterReading apply(const ReadRequest& request) const;
  ReturnOutcome apply(const ReturnRequest& request);

  const MemoryLog* log_;
  static bool give_oldest(std::deque<std::function<void()>>& answers);

  std::deque<std::function<void()>> answers_, late_;
};

}  // namespace seqd
