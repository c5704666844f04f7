// Where DynamoDB keeps the newest lease or return of each lease slot (one sequence of one
// instance): in the counter's own item, so that one conditional update moves the number and leaves
// the record.
//
//   seqd_lease:SLOT   a map: token, state ("granted", "parked" or "void"), count, at
//   seqd_end:SLOT     the first ID that is not in it; an attribute of its own, because it is
//                     computed from the number by that same update
//
// Invariant: a record is only ever replaced on condition that it still holds the token that was
// seen before. A lease slot has one operation under way at a time, so this orders them: once a
// token was followed by another, or given up, a request with it that arrives late changes nothing,
// however late. DynamoLeaseSlots is owned by the store; loop thread. The functions: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/dynamo/wire/dynamo_wire.h"
#include "daemon/store/lease_trace.h"

namespace seqd {

// What is taken to stand in the store, so that a lease is one update as a rule. One entry for every
// sequence that leases, kMostDynamoLeaseSlots at most: what is forgotten is looked at again.
inline constexpr std::size_t kMostDynamoLeaseSlots = 65'536;
struct DynamoLeaseSlot {
  Token newest{};
  Meaning meaning = Meaning::unset;
  std::int64_t floor = 0;
};
using DynamoLeaseSlots = std::map<std::string, DynamoLeaseSlot>;

// None: the lease slot has no record. STORE_REFUSED where it is not one that seqd wrote.
Result<std::optional<LeaseRecord>> record_in(const DynamoItem& item, const std::string& slot,
                                             const std::string& where);

// Puts the record in place of the one with the token `newest`; none: where there is none.
void put_record(DynamoUpdate& update, const std::string& slot, const LeaseRecord& record,
                const std::optional<Token>& newest, std::int64_t wall_ms);
// The same for a lease whose end is what `counter_field` will be, and `more`.
void put_lease(DynamoUpdate& update, const std::string& slot, const Token& token,
               std::int64_t count, const std::string& counter_field, std::int64_t more,
               const std::optional<Token>& newest, std::int64_t wall_ms);

// Records of lease slots that are no longer needed, oldest first: not written for 30 days, or,
// above kMostDynamoRecords, for a day. Records of hosts that lease are kept: removing one costs the
// host's next lease five calls. Above the capacity of an item, the oldest are removed at any age.
// The record of `slot` is never among them.
inline constexpr std::int64_t kDynamoRecordsKeptMs = std::int64_t{30} * 86'400'000;
inline constexpr std::int64_t kDynamoRecordsIdleMs = std::int64_t{86'400'000};
inline constexpr std::size_t kMostDynamoRecords = 100;
inline constexpr std::size_t kRoomForDynamoRecords = 500;
inline constexpr std::size_t kMostDynamoSwept = 5;  // at once
std::vector<std::string> outdated_slots(const DynamoItem& item, const std::string& slot,
                                        std::int64_t wall_ms);
bool has_record(const DynamoItem& item, const std::string& slot);
void remove_record(DynamoUpdate& update, const std::string& slot);
// The hexadecimal digits of the instance that a lease slot begins with.
std::string instance_of_slot(const std::string& slot);

}  // namespace seqd
