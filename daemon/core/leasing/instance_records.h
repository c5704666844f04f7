// Requests of the core to a store about an instance: to take over its remainder, and to forget one
// that is decommissioned. See LeaseStore::claim() and forget(). Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/words/counter_binding.h"
#include "daemon/core/words/token.h"

namespace seqd {

// Takes over the remainder of a clean stop: moves the instance's epoch from `epoch` to `epoch + 1`
// in one conditional write that carries `nonce`. Won also when the store already holds epoch + 1
// with our nonce (a repeated claim). Epoch 0 is an instance the store has not seen: the claim
// creates it.
struct ClaimRequest {
  Token instance{};
  std::uint64_t epoch = 0;
  Token nonce{};
  // After an operator has raised the counters of an older copy: it is the right database from now
  // on. Otherwise a store that detects an older copy fails with SEQ_REGRESSED.
  bool resumes = false;
};
enum class ClaimOutcome : std::uint8_t { won, lost };

struct ForgetRequest {
  struct LeaseSlot {
    CounterBinding binding;
    std::string sequence;
  };
  Token instance{};
  // Sequences of the instance whose records may lie beside their counters.
  std::vector<LeaseSlot> slots;
  // Also everything that is found without a lease slot, and the instance itself: in the last
  // request.
  bool entry = true;
  // Nothing is changed; the answer says what there is.
  bool only_look = false;
};

// What a store holds, or held, of an instance.
struct InstanceRecords {
  bool entry = false;        // its epoch
  std::int64_t records = 0;  // newest leases and returns, of those that were asked for
};

}  // namespace seqd
