// Where DynamoDB keeps the newest lease or return of each lane (one sequence of one instance): in
// the counter's own item, so that one conditional update moves the number and leaves the record.
//
//   seqd_lease:LANE   a map: token, state ("granted", "parked" or "void"), count, at
//   seqd_end:LANE     the first ID that is not in it; an attribute of its own, because it is
//                     computed from the number by that same update
//
// Invariant: a record is only ever replaced on condition that it still holds the token that was
// seen before. A lane has one operation under way at a time, so this orders them: once a token was
// followed by another, or given up, a request with it that arrives late changes nothing, however
// late. DynamoLanes is owned by the store; loop thread. The functions: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/dynamo/dynamo_wire.h"
#include "daemon/store/lease_trace.h"

namespace seqd {

// What is taken to stand in the store, so that a lease is one update as a rule. One entry for every
// sequence that leases, kMostDynamoLanes at most: what is forgotten is looked at again.
inline constexpr std::size_t kMostDynamoLanes = 65'536;
struct DynamoLane {
  Token newest{};
  Meaning meaning = Meaning::unset;
};
using DynamoLanes = std::map<std::string, DynamoLane>;

// None: the lane has no record. STORE_REFUSED where it is not one that seqd wrote.
Result<std::optional<LeaseRecord>> record_in(const DynamoItem& item, const std::string& lane,
                                             const std::string& where);

// Puts the record in place of the one with the token `newest`; none: where there is none.
void put_record(DynamoUpdate& update, const std::string& lane, const LeaseRecord& record,
                const std::optional<Token>& newest, std::int64_t wall_ms);
// The same for a lease whose end is what `counter_field` will be, and `more`.
void put_lease(DynamoUpdate& update, const std::string& lane, const Token& token,
               std::int64_t count, const std::string& counter_field, std::int64_t more,
               const std::optional<Token>& newest, std::int64_t wall_ms);

// Records of lanes that nobody will ask for any more, oldest first: not written for 30 days, or,
// above kMostDynamoRecords, for a day. Hosts that lease keep theirs: to remove the record of one
// costs its next lease five calls. Only above what one item has room for, the oldest go whatever
// their age. The record of `lane` is not among them.
inline constexpr std::int64_t kDynamoRecordsKeptMs = std::int64_t{30} * 86'400'000;
inline constexpr std::int64_t kDynamoRecordsIdleMs = std::int64_t{86'400'000};
inline constexpr std::size_t kMostDynamoRecords = 100;
inline constexpr std::size_t kRoomForDynamoRecords = 500;
inline constexpr std::size_t kMostDynamoSwept = 5;  // at once
std::vector<std::string> outdated_lanes(const DynamoItem& item, const std::string& lane,
                                        std::int64_t wall_ms);
bool has_record(const DynamoItem& item, const std::string& lane);
void remove_record(DynamoUpdate& update, const std::string& lane);
// The hexadecimal digits of the instance that a lane begins with.
std::string instance_of_lane(const std::string& lane);

}  // namespace seqd
