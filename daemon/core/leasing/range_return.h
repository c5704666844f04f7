// The request of the core to a store to return the rest of a range. See LeaseStore::return_range().
//
// A return is an operation of its own, like a lease: it has a token that is durable before the
// request leaves, and its outcome can be looked up until it is known. A sequence has one operation
// in flight at a time, a lease or a return. Values; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/status.h"
#include "daemon/core/words/counter_binding.h"
#include "daemon/core/words/reuse.h"
#include "daemon/core/words/token.h"

namespace seqd {

struct ReturnRequest {
  CounterBinding binding;
  Token token{};         // names this return; from new_token() of the store that is asked
  Token instance{};      // that returns
  std::string sequence;  // which of its sequences
  // [begin, end): no ID of it was issued, and only a host that leases it again may issue it.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Reuse reuse = Reuse::parked;  // or tail
  // Do not apply it any more: say what became of it, and if it was not applied, see to it that it
  // never will be.
  bool give_up = false;
  // See LeaseRequest. An older database takes nothing back, and makes no token void.
  std::int64_t heartbeat = 0;
};

// returned: it was applied, by this request or an earlier one with its token.   kept: it was not,
// and never will be: the store has made the token void, or never had a trace of it; `error` says
// why.   failed: not known; ask again with the same token.
struct ReturnOutcome {
  enum class Kind : std::uint8_t { returned, kept, failed };
  Kind kind = Kind::failed;
  Status error;
  bool contended = false;  // failed: other hosts changed the counter first, and the store works
  bool restored = false;   // failed: the database is an older copy; see LeaseOutcome
};

}  // namespace seqd
