// LeaseTrace: how a lease of a MongoDB store can be found again when its outcome is unknown. The
// choice is marked in the token, which is durable before the request leaves: so a later daemon,
// whose server may be another one by then, looks for the lease where it was sent, and never takes
// a lease that left no token for one that was not applied.
//
// Invariant: a token without a mark was sent without a trace. Tokens of seqd 0.1.0, random in all
// bits, are such (but for one of 2^32). Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/core/lease_store.h"
#include "daemon/store/counter_value.h"

namespace seqd {

// plain: not at all.   ledger: a document of the collection seqd_leases, changed in one transaction
// with the counter.   slot: a field of the counter's own document.
enum class LeaseTrace : std::uint8_t { plain, ledger, slot };

// The option lease_mode, in the order of its choices.
enum class LeaseModeOption : std::uint8_t { automatic, ledger, slot, plain };

const char* lease_trace_word(LeaseTrace trace);

Token new_lease_token(Random& random, LeaseTrace trace);
LeaseTrace trace_of(const Token& token);

// Who leases: one sequence of one instance, with one lease under way at a time. Names the lease's
// record in the store. Holds no dot: it is the name of a field, too.
std::string lane_of(const LeaseRequest& request);

// What a lane's record in the store says of its newest operation, a lease or a return.
// `granted`: it was applied.
struct LeaseRecord {
  Token token{};
  bool granted = false;  // false: given up; a request with this token is refused for ever
  LeasedSpan span;       // of a granted one
  bool parked = false;   // granted: of what somebody had given back

  bool operator==(const LeaseRecord& other) const {
    return token == other.token && granted == other.granted && span.begin == other.span.begin &&
           span.end == other.span.end && parked == other.parked;
  }
};

}  // namespace seqd
