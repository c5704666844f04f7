// LeaseTrace: how a lease of MongoDB or DynamoDB can be found again when its outcome is unknown.
// The choice is marked in the token, which is durable before the request leaves: so a later daemon,
// whose server may be another one by then, looks for the lease where it was sent, and never takes
// a lease that left no token for one that was not applied.
//
// Invariant: a token without a mark was sent without a trace. Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/leasing/lease_store.h"
#include "daemon/store/counter_value.h"

namespace seqd {

// plain: not at all.   slot: a field of the counter's own document.   session: the server's record
// of a numbered write, announced in a document of seqd_leases, the ledger.   transaction: such a
// document, changed in one transaction with the counter; tests alone make such tokens, to have each
// lease sent in the transaction that a session uses for some. In tables it is a session. The lease
// mode is configured; the trace is what one token was sent with.
enum class LeaseTrace : std::uint8_t { plain, transaction, slot, session };

// Whether the record of a lease slot is a document of seqd_leases.
constexpr bool is_in_ledger(LeaseTrace trace) {
  return trace == LeaseTrace::transaction || trace == LeaseTrace::session;
}

// The option lease_mode, in the order of its choices.
enum class LeaseModeOption : std::uint8_t { automatic, slot, plain, session };

const char* lease_trace_word(LeaseTrace trace);

Token new_lease_token(Random& random, LeaseTrace trace);
LeaseTrace trace_of(const Token& token);

// What a token of `session` says: of which session of its lease slot, and which number in it.
struct SessionNumber {
  std::array<std::uint8_t, 8> salt{};
  std::int64_t number = 0;  // 0 .. 2^32-1
};
SessionNumber session_number_of(const Token& token);

// The tokens of `session` of one process: of one session a lease slot, with numbers that rise. One
// thread.
class SessionTokens {
 public:
  Token next(Random& random);

 private:
  Token newest_{};
  std::uint32_t number_ = 0;  // of the newest; 0: there is none
};

// The name of a lease slot: one sequence of one instance, with one lease under way at a time. Also
// the name of the lease's record in the store. Contains no dot, because it is also the name of a
// field.
std::string slot_of(const LeaseRequest& request);

// What a lease slot's record in the store says of its newest operation, a lease or a return.
struct LeaseRecord {
  enum class State : std::uint8_t {
    voided,     // a request with this token is refused for ever
    sent,       // the numbered write of the lease may be under way, or applied, and only the
                // server's own record says which
    granted,    // applied
    parked,     // granted from a parked range
    forgotten,  // voided, and the server did not remember any more what it applied
  };
  // Of a numbered write.
  struct Sent {
    std::int64_t count = 0;  // IDs that the write adds
    Meaning meaning = Meaning::unset;
    std::int32_t statement = 0;  // that announced it
    bool operator==(const Sent&) const = default;
  };

  bool granted() const { return state == State::granted || state == State::parked; }
  bool operator==(const LeaseRecord&) const = default;

  Token token{};
  State state = State::voided;
  LeasedSpan span = {};  // of what was granted
  Sent sent = {};        // of what was sent
};

// The record's state in the store: "void", "sent", "granted", "parked", "forgotten".
const char* record_state_word(LeaseRecord::State state);
// Nothing: no such word.
std::optional<LeaseRecord::State> record_state_of(std::string_view word);

}  // namespace seqd
