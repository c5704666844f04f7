// What the log of the state directory records: one struct an entry. The core appends entries, the
// log keeps those of one loop turn as one record, and recovery applies them to a StateImage in
// the same order. How they are encoded is the log's business (daemon/state/log_format.h,
// daemon/doc/LOG-FORMAT.md).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "daemon/core/log/block_entry.h"
#include "daemon/core/log/client_entry.h"
#include "daemon/core/log/name_entry.h"
#include "daemon/core/log/register_entry.h"
#include "daemon/core/log/return_entry.h"
#include "daemon/core/log/scope_entry.h"
#include "daemon/core/log/snapshot_entry.h"
#include "daemon/core/words/log_types.h"
#include "daemon/core/words/token.h"

namespace seqd {

// Defines a sequence, or replaces what is known of it (its ranges stay).
struct DefineSequence {
  SequenceId sequence = 0;
  ScopeId scope = 0;
  std::string name;
  std::string binding;  // which counter its ranges came from; compared with the configuration's
  // End of the highest range ever granted, but for what was returned by lowering the counter; see
  // LeaseRequest.
  std::int64_t high_water = 0;
  bool operator==(const DefineSequence&) const = default;
};

// A lease is about to be requested. Durable before the request leaves.
struct LeaseIntended {
  SequenceId sequence = 0;
  Token lease{};
  std::int64_t count = 0;
  std::int64_t wall_ms = 0;
  bool operator==(const LeaseIntended&) const = default;
};

// The range [begin, end) is available, behind those already there. Ends the intent of the same
// token.
struct LeaseGranted {
  SequenceId sequence = 0;
  Token lease{};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t wall_ms = 0;
  bool operator==(const LeaseGranted&) const = default;
};

// Ends the intent of the same token without a range.
struct LeaseClosed {
  SequenceId sequence = 0;
  Token lease{};
  LeaseEnd how = LeaseEnd::refused;
  std::int64_t wall_ms = 0;
  bool operator==(const LeaseClosed&) const = default;
};

// IDs of the range that holds `end - 1` may be issued up to `end`, once this entry is durable.
struct Reserved {
  SequenceId sequence = 0;
  std::int64_t end = 0;
  bool operator==(const Reserved&) const = default;
};

// [begin, end) was taken from the front of the first available range.
struct Issued {
  SequenceId sequence = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  ClientId client = 0;  // 0: nothing to repeat, the two below mean nothing
  std::uint32_t request = 0;
  IssueKind kind = IssueKind::single;
  TextForm form = 0;        // of text; else 0
  std::int64_t wall_s = 0;  // of text: the time in it; else 0
  bool operator==(const Issued&) const = default;
};

// [begin, end), the front or the back of an available range, leaves it and will never be issued.
struct GapMade {
  SequenceId sequence = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  GapCause cause = GapCause::power_loss;
  std::int64_t wall_ms = 0;
  bool operator==(const GapMade&) const = default;
};

// In snapshots: an issue kept so that its client can repeat the request; moves no cursor.
struct RetainedIssue {
  Issued issue;
  bool operator==(const RetainedIssue&) const = default;
};

// Nothing of the sequence is left to know: it has no IDs, its leases are settled, no client can
// repeat a request for it. Its number is not used again; its name may be.
struct ForgetSequence {
  SequenceId sequence = 0;
  bool operator==(const ForgetSequence&) const = default;
};

// New kinds go at the end: the index is the kind on disk.
using LogEntry =
    std::variant<DefineScope, DefineSequence, LeaseIntended, LeaseGranted, LeaseClosed, Reserved,
                 Issued, DefineClient, Acknowledged, ForgetClient, GapMade, AvailableRange,
                 RetainedIssue, SequenceTotals, NextNumbers, ReturnOpened, ReturnClosed, UsedBelow,
                 ForgetSequence, StoreBound, DefineName, ClientUser, StoreHeartbeat, BlockGranted,
                 BlockEnded, RegisterReached>;

}  // namespace seqd
