// Counter arithmetic, the same for every store: what the number in a store means, and which range a
// lease takes from it. Works on "the last ID issued" (`last`: the number itself; `next`: one less),
// which cannot overflow. Pure functions; any thread.
//
// Invariant: a range returned here starts above everything the number says was issued and ends at
// or below max_value, which is taken as 2^63-2 at most so that an exclusive end can be written
// down.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "daemon/core/leasing/lease_store.h"

namespace seqd {

// [begin, end), never empty.
struct LeasedSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const LeasedSpan&) const = default;
};

inline constexpr std::int64_t kHighestId = std::numeric_limits<std::int64_t>::max() - 1;

// The number to write where the last issued ID is `last_issued`. Both are exact for 0 ..
// kHighestId.
std::int64_t value_of(std::int64_t last_issued, Meaning meaning);
std::int64_t last_issued_of(std::int64_t value, Meaning meaning);

// The first ID a lease would take; 2^63-1, which is no ID, when there is none left.
std::int64_t next_id_of(std::int64_t value, Meaning meaning);

// The lowest number that is legal: 0 for `last` (nothing issued yet), 1 for `next`.
std::int64_t lowest_value(Meaning meaning);

// The highest ID the request allows.
std::int64_t highest_id(const LeaseRequest& request);

// What a counter that exists means. `configured` and `marked` (in the store) may each be unset;
// both unset is SEQ_MEANING, and so is a contradiction: two hosts reading one number in two ways
// would issue one ID twice. `where` names the counter in the text.
Result<Meaning> agreed_meaning(Meaning configured, Meaning marked, const std::string& where);

// What a counter is made to mean; also what one without a mark is first taken for.
Meaning meaning_of_new(const CounterBinding& binding);

// The range a lease takes when `last_issued` was issued last: shortened at the end of the sequence,
// EXHAUSTED when nothing is left, SEQ_REGRESSED when the counter is below the high-water mark.
Result<LeasedSpan> span_after(std::int64_t last_issued, const LeaseRequest& request,
                              const std::string& where);

// SEQ_REGRESSED when the counter is below its floor: IDs up to there may have been issued, also by
// hosts whose high-water mark this request does not know.
Status check_not_below_floor(std::int64_t last_issued, std::int64_t floor,
                             const LeaseRequest& request, const std::string& where);

// The error of a counter that a high-water mark above 0 says must exist.
Status missing_counter(const LeaseRequest& request, const std::string& where);

// The error of a counter that does not exist and may not be created.
Status creation_not_allowed(const std::string& where);

// A binding that no store has a counter for: our own configuration's mistake.
Status check_counter_binding(const CounterBinding& binding);

// A binding or a number that no counter can be raised to.
Status check_advance_request(const AdvanceRequest& request);

// A request no store can serve: our own configuration's mistake, never a store's.
Status check_lease_request(const LeaseRequest& request);

// A range that cannot have been leased: a defect of the daemon.
Status check_return_request(const ReturnRequest& request);

LeaseOutcome granted(LeasedSpan span);
LeaseOutcome granted_parked(LeasedSpan span);  // from a parked range
LeaseOutcome refused(Status error);
LeaseOutcome contended(Status error);  // refused: other hosts were faster
LeaseOutcome unknown_outcome(Status error);

ReturnOutcome returned();
ReturnOutcome kept(Status why);
ReturnOutcome not_known(Status error);
ReturnOutcome contended_return(Status error);  // not known: other hosts were faster

// The outcome of a return whose token was to be made void, according to its record. `why`: the
// reason for that.
ReturnOutcome end_of(Resolution found, Status why, const std::string& where);

// A return as the lease slot sees it in which its token stands: an operation like a lease, of a
// counter that is known to exist and so is not made.
LeaseRequest as_lease(const ReturnRequest& request);

// Why a range is kept: given up; not the counter's end; above a counter that was set back; or below
// its floor.
Status given_up_reason(const std::string& where);
Status not_the_tail(const std::string& where, std::int64_t next_id, const ReturnRequest& request);
Status above_the_counter(const std::string& where, std::int64_t next_id, std::int64_t end);
// In slot mode: the record of the range's lease is missing, so the outcome of an earlier delivery
// of the return is unknown.
Status record_is_gone(const std::string& where);
Status below_the_floor(const std::string& where, std::int64_t floor, const ReturnRequest& request);

// The floor that was read from a store. `value`: the number; nothing if it is not one.
Result<std::int64_t> floor_of(std::optional<std::int64_t> value, const std::string& where);

}  // namespace seqd
