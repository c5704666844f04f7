// StateImage: the contents of a log, as plain data: the result of applying its entries in order.
// Recovery builds one, the start rules change it, the SequenceTable is filled from it. Entries that
// contradict those before them are refused, so that a damaged log is detected. A value; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/fifo.h"
#include "daemon/base/status.h"
#include "daemon/core/log/log_entry.h"
#include "daemon/core/log/retained_issues.h"

namespace seqd {

// A block that is out, and the lease that its range came from.
struct BlockImage {
  BlockGranted granted;
  Token lease{};
  bool operator==(const BlockImage&) const = default;
};
using BlockKey = std::pair<ClientId, std::uint32_t>;  // the slot of a client

struct SequenceImage {
  DefineSequence definition;
  Fifo<AvailableRange> ranges;  // in the order of issue; each without what was issued; none empty
  std::map<BlockKey, BlockImage> blocks;  // that are out
  std::optional<LeaseIntended> intent;
  std::optional<ReturnOpened> returning;  // never beside an intent
  std::int64_t used_below = 0;            // see UsedBelow
  SequenceTotals totals;
  bool operator==(const SequenceImage&) const = default;
};

struct ClientImage {
  Token identity{};
  UserId user = kNoUserOrGroup;  // kNoUserOrGroup: not known
  std::uint32_t acknowledged_below = 0;
  RetainedIssues retained;
  bool operator==(const ClientImage&) const = default;
};

// What a sequence has not issued, as ranges: its blocks that are out, and what is available.
std::vector<AvailableRange> held_by(const SequenceImage& sequence);
// A block that is out, in a snapshot: as the range that it is, and its grant. Before the ranges of
// the sequence.
void snapshot_block(const BlockImage& block, const std::function<void(const LogEntry&)>& entry);
// A return that is open, in a snapshot: as the range that it took.
void snapshot_return(const ReturnOpened& opened, const std::function<void(const LogEntry&)>& entry);

class StateImage {
 public:
  // STATE_CORRUPT when the entry does not fit; the image is then in an unspecified state.
  Status apply(const LogEntry& entry);
  // The entries that make an equal image when applied to an empty one.
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;

  // Checks what no single entry shows: STATE_CORRUPT if an ID or a name is there twice. For an
  // image to which all entries of a log were applied.
  Status check() const;

  // Available IDs of a sequence, without those being returned or in blocks.
  static std::int64_t available(const SequenceImage& sequence);
  // IDs of its blocks that are out.
  static std::int64_t out(const SequenceImage& sequence);

  bool operator==(const StateImage&) const = default;

  std::map<ScopeId, DefineScope> scopes;
  std::map<ScopeId, StoreBound> databases;  // of the scopes whose database is known
  std::map<ScopeId, StoreHeartbeat> heartbeats;
  std::map<SequenceId, SequenceImage> sequences;
  std::map<ClientId, ClientImage> clients;
  std::map<std::string, DefineName, std::less<>> names;
  std::map<std::pair<ScopeId, std::string>, RegisterReached> registers;
  NextNumbers next_numbers;

 private:
  Status apply_one(const DefineScope& entry);
  Status apply_one(const DefineSequence& entry);
  Status apply_one(const LeaseIntended& entry);
  Status apply_one(const LeaseGranted& entry);
  Status apply_one(const LeaseClosed& entry);
  Status apply_one(const Reserved& entry);
  Status apply_one(const Issued& entry);
  Status apply_one(const DefineClient& entry);
  Status apply_one(const Acknowledged& entry);
  Status apply_one(const ForgetClient& entry);
  Status apply_one(const GapMade& entry);
  Status apply_one(const AvailableRange& entry);
  Status apply_one(const RetainedIssue& entry);
  Status apply_one(const SequenceTotals& entry);
  Status apply_one(const NextNumbers& entry);
  Status apply_one(const ReturnOpened& entry);
  Status apply_one(const ReturnClosed& entry);
  Status apply_one(const UsedBelow& entry);
  Status apply_one(const ForgetSequence& entry);
  Status apply_one(const StoreBound& entry);
  Status apply_one(const DefineName& entry);
  Status apply_one(const ClientUser& entry);
  Status apply_one(const StoreHeartbeat& entry);
  Status apply_one(const BlockGranted& entry);
  Status apply_one(const BlockEnded& entry);
  Status apply_one(const RegisterReached& entry);
  Result<SequenceImage*> find(SequenceId sequence);
};

}  // namespace seqd
