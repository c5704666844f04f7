#include "daemon/store/counter_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

std::int64_t value_of(std::int64_t last_issued, Meaning meaning) {
  ASSERT(meaning != Meaning::unset);
  return meaning == Meaning::next ? last_issued + 1 : last_issued;
}

std::int64_t last_issued_of(std::int64_t value, Meaning meaning) {
  ASSERT(meaning != Meaning::unset);
  return meaning == Meaning::next ? value - 1 : value;
}

std::int64_t next_id_of(std::int64_t value, Meaning meaning) {
  return std::min(last_issued_of(value, meaning), kHighestId) + 1;
}

std::int64_t lowest_value(Meaning meaning) {
  return meaning == Meaning::next ? 1 : 0;
}

std::int64_t highest_id(const LeaseRequest& request) {
  return std::min(request.max_value, kHighestId);
}

Result<Meaning> agreed_meaning(Meaning configured, Meaning marked, const std::string& where) {
  if (configured == Meaning::unset && marked == Meaning::unset) {
    return Status(ErrorCode::SEQ_MEANING,
                  fmt::format("{}: the number exists, and the configuration does not say whether "
                              "it is the last ID issued or the next one to issue; set meaning = "
                              "\"last\" or meaning = \"next\" for this sequence",
                              where));
  }
  if (configured != Meaning::unset && marked != Meaning::unset && configured != marked) {
    return Status(
        ErrorCode::SEQ_MEANING,
        fmt::format("{}: the configuration says meaning = \"{}\" and the counter is marked \"{}\" "
                    "in the store, so another daemon may read it that way; give every daemon the "
                    "same meaning, or correct the mark in the store",
                    where, meaning_word(configured), meaning_word(marked)));
  }
  return configured != Meaning::unset ? configured : marked;
}

Meaning meaning_of_new(const CounterBinding& binding) {
  return binding.meaning == Meaning::unset ? Meaning::last : binding.meaning;
}

Result<LeasedSpan> span_after(std::int64_t last_issued, const LeaseRequest& request,
                              const std::string& where) {
  if (request.high_water > 0 && last_issued < request.high_water - 1) {
    return Status(
        ErrorCode::SEQ_REGRESSED,
        fmt::format(
            "{}: the counter has {} as the next ID, but this host has leased IDs up to {}: it was "
            "set back or restored, or the sequence was moved here. `seqctl advance {} --yes` "
            "raises it to {}; if other hosts leased more, use --to",
            where, last_issued + 1, request.high_water - 1, request.sequence, request.high_water));
  }
  const std::int64_t highest = highest_id(request);
  if (last_issued >= highest) {
    return Status(
        ErrorCode::EXHAUSTED,
        fmt::format("{}: ID {} was leased and max_value is {}; raise max_value if more may exist",
                    where, last_issued, request.max_value));
  }
  ASSERT(request.count >= 1);
  const std::int64_t count = std::min(request.count, highest - last_issued);
  return LeasedSpan{last_issued + 1, last_issued + 1 + count};
}

Status check_not_below_floor(std::int64_t last_issued, std::int64_t floor,
                             const LeaseRequest& request, const std::string& where) {
  if (last_issued >= floor - 1) return {};
  return {
      ErrorCode::SEQ_REGRESSED,
      fmt::format("{}: the counter has {} as the next ID, below its floor, {}: it was set back. "
                  "`seqctl advance {} --yes` raises it to the floor",
                  where, last_issued + 1, floor, request.sequence)};
}

Status missing_counter(const LeaseRequest& request, const std::string& where) {
  ASSERT(request.high_water > 0);
  return {ErrorCode::SEQ_REGRESSED,
          fmt::format(
              "{}: the counter is missing, but this host has leased IDs up to {}: it was removed, "
              "or the sequence was moved here. `seqctl advance {} --yes` creates it with {} as the "
              "next ID; if other hosts leased more, use --to",
              where, request.high_water - 1, request.sequence, request.high_water)};
}

Status creation_not_allowed(const std::string& where) {
  return {ErrorCode::NO_SEQUENCE,
          fmt::format("{}: there is no such counter and create_counter = false for "
                      "this sequence; create it in the store or "
                      "set create_counter = true",
                      where)};
}

Status check_counter_binding(const CounterBinding& binding) {
  if (binding.key.empty()) return {ErrorCode::CONFIG, "a counter's key must not be empty"};
  if (binding.key.find('\0') != std::string::npos) {
    return {ErrorCode::CONFIG, "a counter's key must not contain a zero byte"};
  }
  if (binding.first_id < 1 || binding.first_id > kHighestId) {
    return {ErrorCode::CONFIG,
            fmt::format("first_id is {}; allowed are 1 .. {}", binding.first_id, kHighestId)};
  }
  return {};
}

Status check_advance_request(const AdvanceRequest& request) {
  if (Status status = check_counter_binding(request.binding); !status.ok()) return status;
  // Behind the highest ID is allowed, too: the next ID of a counter that is used up.
  if (request.next_id < 1) {
    return {ErrorCode::BAD_REQUEST,
            fmt::format("a counter cannot be advanced to {}; allowed: 1 .. {}", request.next_id,
                        kHighestId)};
  }
  return {};
}

Status check_lease_request(const LeaseRequest& request) {
  if (Status status = check_counter_binding(request.binding); !status.ok()) return status;
  if (request.count < 1) return {ErrorCode::INTERNAL, "a lease of less than one ID was requested"};
  if (request.high_water < 0)
    return {ErrorCode::INTERNAL, "a lease with a negative high-water mark was requested"};
  if (request.max_value < 1) return {ErrorCode::CONFIG, "max_value must be at least 1"};
  return {};
}

Status check_return_request(const ReturnRequest& request) {
  if (Status status = check_counter_binding(request.binding); !status.ok()) return status;
  if (request.begin < 1 || request.begin >= request.end || request.reuse == Reuse::never) {
    return {ErrorCode::INTERNAL,
            fmt::format("a return of [{}, {}) was requested", request.begin, request.end)};
  }
  return {};
}

LeaseOutcome granted(LeasedSpan span) {
  return {.kind = LeaseOutcome::Kind::granted, .begin = span.begin, .end = span.end, .error = {}};
}

LeaseOutcome granted_parked(LeasedSpan span) {
  LeaseOutcome outcome = granted(span);
  outcome.parked = true;
  return outcome;
}

LeaseOutcome refused(Status error) {
  ASSERT(!error.ok());
  return {.kind = LeaseOutcome::Kind::refused, .begin = 0, .end = 0, .error = std::move(error)};
}

LeaseOutcome contended(Status error) {
  LeaseOutcome outcome = refused(std::move(error));
  outcome.contended = true;
  return outcome;
}

LeaseOutcome unknown_outcome(Status error) {
  ASSERT(!error.ok());
  return {.kind = LeaseOutcome::Kind::unknown, .begin = 0, .end = 0, .error = std::move(error)};
}

ReturnOutcome returned() {
  return {.kind = ReturnOutcome::Kind::returned, .error = {}};
}

ReturnOutcome kept(Status why) {
  ASSERT(!why.ok());
  return {.kind = ReturnOutcome::Kind::kept, .error = std::move(why)};
}

ReturnOutcome not_known(Status error) {
  ASSERT(!error.ok());
  return {.kind = ReturnOutcome::Kind::failed, .error = std::move(error)};
}

ReturnOutcome contended_return(Status error) {
  ReturnOutcome outcome = not_known(std::move(error));
  outcome.contended = true;
  return outcome;
}

ReturnOutcome end_of(Resolution found, Status why, const std::string& where) {
  switch (found.kind) {
    case Resolution::Kind::granted:
      return returned();
    case Resolution::Kind::absent:
      return kept(std::move(why));
    case Resolution::Kind::untraceable:
      return kept({ErrorCode::STORE_REFUSED,
                   fmt::format("{}: the record of the return is missing; it cannot be determined "
                               "whether the range was returned",
                               where)});
    case Resolution::Kind::failed:
      break;
  }
  return not_known(std::move(found.error));
}

LeaseRequest as_lease(const ReturnRequest& request) {
  LeaseRequest lease;
  lease.binding = request.binding;
  lease.token = request.token;
  lease.instance = request.instance;
  lease.sequence = request.sequence;
  lease.count = request.end - request.begin;
  lease.high_water = request.end;
  return lease;
}

Status given_up_reason(const std::string& where) {
  return {ErrorCode::UNAVAILABLE,
          fmt::format("{}: the store did not confirm the return within the time allowed", where)};
}

Status record_is_gone(const std::string& where) {
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: there is no record of this host's newest lease, so it is not known "
                      "whether the range was returned before; was the whole document replaced, or "
                      "was the range leased in lease_mode \"plain\"?",
                      where)};
}

Status not_the_tail(const std::string& where, std::int64_t next_id, const ReturnRequest& request) {
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: the counter's next ID is {}, so [{}, {}) is not its end and the counter "
                      "cannot be lowered",
                      where, next_id, request.begin, request.end)};
}

Status above_the_counter(const std::string& where, std::int64_t next_id, std::int64_t end) {
  return {ErrorCode::SEQ_REGRESSED,
          fmt::format("{}: the counter's next ID is {}, below a leased range that ends at {}: it "
                      "was set back; move it forward (seqctl advance) to at least {}",
                      where, next_id, end, end)};
}

Status below_the_floor(const std::string& where, std::int64_t floor, const ReturnRequest& request) {
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: the counter was advanced to {} for every host, and [{}, {}) lies below",
                      where, floor, request.begin, request.end)};
}

Result<std::int64_t> floor_of(std::optional<std::int64_t> value, const std::string& where) {
  if (value && *value >= 0 && *value <= kHighestId + 1) return *value;
  return Status(ErrorCode::SEQ_TYPE,
                fmt::format("{}: seqd's own floor holds {}, an integer within 0 .. {} is needed; "
                            "remove it",
                            where, value ? std::to_string(*value) : "no integer", kHighestId + 1));
}

}  // namespace seqd
