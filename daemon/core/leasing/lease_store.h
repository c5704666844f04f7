// LeaseStore: the interface of a central store. Asynchronous: every verb answers exactly once on
// the loop thread, never before the call returned. An adapter that blocks sits behind
// daemon/store/blocking_store.h and a worker.
//
// The invariant of every store: two grants of one counter never overlap, whichever hosts ask, and
// however often a request is delivered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "daemon/base/random.h"
#include "daemon/base/status.h"
#include "daemon/core/leasing/heartbeat.h"
#include "daemon/core/leasing/instance_records.h"
#include "daemon/core/leasing/range_return.h"
#include "daemon/core/leasing/store_place.h"
#include "daemon/core/words/counter_binding.h"
#include "daemon/core/words/token.h"

namespace seqd {

struct LeaseRequest {
  CounterBinding binding;
  Token token{};           // names this lease; from new_token() of the store that is asked
  Token instance{};        // that asks
  std::string sequence;    // for which of its sequences; one lease of it is under way at a time
  std::int64_t count = 0;  // IDs wanted, >= 1
  // End (exclusive) of the highest range this host was ever granted, 0 for none. Above 0 the
  // counter is known to exist: it is not created again (missing is SEQ_REGRESSED).
  std::int64_t high_water = 0;
  std::int64_t max_value = 0;  // the highest ID that may exist; a counter whose next ID is above it
                               // is EXHAUSTED, unmoved
  // Whether a parked range (Reuse::parked) is taken first: the lowest one, and whole, even if it is
  // longer than `count` or below `high_water`.
  bool take_parked = false;
  std::int64_t heartbeat = 0;  // the newest one that is known; 0: it is not compared
};

// granted: [begin, end) is ours; it may be shorter than asked (the end of the sequence) but not
// empty. refused: certainly nothing was applied; `error` says why. unknown: it may have been
// applied (time-out, lost reply, write-concern error); the range must not be used.
struct LeaseOutcome {
  enum class Kind : std::uint8_t { granted, refused, unknown };
  Kind kind = Kind::refused;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Status error;
  bool parked = false;     // granted: a range that was returned
  bool contended = false;  // refused: other hosts changed the counter first, and the store works
  bool restored = false;   // not granted, because the database is an older copy: see heartbeat.h
};

// What became of a lease whose outcome was unknown.
// granted: it was applied; [begin, end) is ours.   absent: it was not, and never will be.
// untraceable: it is not known, and never will be; what was applied is a gap.   failed: ask later.
struct Resolution {
  enum class Kind : std::uint8_t { granted, absent, untraceable, failed };
  Kind kind = Kind::failed;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Status error;
  bool parked = false;    // granted: as in LeaseOutcome
  bool restored = false;  // failed: as there
};

// What the store has of a counter. `instance`: sum up the leases of this one.
struct ReadRequest {
  CounterBinding binding;
  Token instance{};
};

struct CounterReading {
  struct Granted {
    std::int64_t leases = 0;
    std::int64_t ids = 0;
  };
  // Sums over every lease the store granted of this counter since it began to count them, less what
  // was returned: the IDs of [since, next_id) that are in no lease were taken by others, skipped
  // by hand, or are parked.
  struct Totals {
    std::int64_t since = 0;  // the first ID of the first lease that was counted
    Granted ours;            // this instance's
    Granted all;             // every instance's
  };
  struct Parked {  // returned, and waits for a lease that takes parked ranges
    std::int64_t ranges = 0;
    std::int64_t ids = 0;
  };
  bool exists = false;
  Meaning meaning = Meaning::unset;  // as configured or marked; unset where there is no counter
  std::int64_t next_id = 0;          // the first ID of the next lease; 0 where there is no counter
  std::int64_t floor = 0;            // see AdvanceRequest::withdraw; 0: it was never set
  std::optional<Totals> totals;      // none: this store does not count, or nothing was leased yet
  Parked parked;                     // none where there is no counter
};

// Raises a counter, so that no ID below `next_id` (1 .. 2^63-1) is leased any more by any host. An
// operator requests it after a counter was lost or restored from an older copy.
struct AdvanceRequest {
  CounterBinding binding;
  std::int64_t next_id = 0;
  // Sets the counter's floor, too, where its next ID then is: no host may issue an ID below it, and
  // no range below it is returned or stays parked. The floor is never above the next ID.
  bool withdraw = false;
};

class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  // Where the store is. Constant; does not call it.
  virtual StorePlace place() const = 0;
  // Answers with the identity of the database, which lies in the database, survives its backups and
  // is the same for all hosts. One that has none yet gets `candidate`, once.
  virtual void identify(const Token& candidate, std::function<void(Result<Token>)> done) = 0;
  // The token of a lease that is about to be intended: random bits, among which a store may mark
  // how it is going to trace the lease. The token is in the log before the request leaves, so the
  // mark is all that a later daemon has to go by when it resolves the lease.
  virtual Token new_token(Random& random, const CounterBinding&) { return random_token(random); }
  virtual void lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) = 0;
  virtual void resolve(const LeaseRequest& request, std::function<void(Resolution)> done) = 0;
  virtual void claim(const ClaimRequest& request,
                     std::function<void(Result<ClaimOutcome>)> done) = 0;
  // Compares the heartbeat of an instance and raises it; may be repeated, and may arrive late.
  virtual void beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) = 0;
  // Changes nothing. Strong enough to diagnose by: what was granted before the call is in it. A
  // counter whose number cannot be read as an ID is an error (SEQ_TYPE, SEQ_MEANING).
  virtual void read(const ReadRequest& request,
                    std::function<void(Result<CounterReading>)> done) = 0;
  // Answers with the counter's next ID, which is at least the requested one: a counter is never
  // lowered, and created if it is missing. The request may arrive often and late; after an error it
  // may have been applied, and a retry does no harm.
  virtual void advance(const AdvanceRequest& request,
                       std::function<void(Result<std::int64_t>)> done) = 0;
  // Returns a range, at most once for a token, however often and late the request arrives. Called
  // only while no later operation of its sequence was begun. See ReturnOutcome.
  virtual void return_range(const ReturnRequest& request,
                            std::function<void(ReturnOutcome)> done) = 0;
  // Removes what is kept of an instance that will send no more requests: its newest leases and
  // returns, and its epoch, so that any later claim of it is lost. Answers with what there was.
  // Counters, parked ranges and what is kept of others stay. May be repeated; after an error any
  // part of it may have been done.
  virtual void forget(const ForgetRequest& request,
                      std::function<void(Result<InstanceRecords>)> done) = 0;
};

}  // namespace seqd
