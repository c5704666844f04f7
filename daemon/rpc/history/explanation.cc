#include "daemon/rpc/history/explanation.h"

#include <limits>

namespace seqd {
namespace {

std::string untraceable_text(const IdAnswer& history) {
  if (history.untraceable == 0) return {};
  return "; or it is in one of the " + std::to_string(history.untraceable) +
         " leases of this host whose outcome cannot be traced";
}

// The ID was returned, and no later issue or gap is recorded. A lease with a later time may be a
// new lease, or an earlier one that was recorded by a clock that was ahead.
Explanation returned(const IdFacts& facts) {
  const IdAnswer& history = facts.history;
  const std::optional<LeaseRow>& lease = history.lease;
  const std::int64_t kept_since_ms =
      history.oldest_lease_ms.value_or(std::numeric_limits<std::int64_t>::max());
  if (!lease && facts.ordinal < history.leases_forgotten_below &&
      history.gap->gap.wall_ms < kept_since_ms) {
    return {IdFate::older,
            "returned to the store; whether this host leased and issued it again is older than the "
            "history"};
  }
  if (lease && lease->lease.wall_ms > history.gap->gap.wall_ms) {
    return {IdFate::older,
            "returned to the store, and perhaps leased by this host again; the history no longer "
            "has what happened to it then"};
  }
  return {IdFate::returned,
          "returned to the store; it no longer belongs to this host, and any host may lease and "
          "issue it"};
}

std::string issued_text(const IssueRow& issue) {
  if (!issue.callers.empty()) return "issued";
  switch (issue.caller_missing) {
    case CallerMissing::lost:
      return "issued; the daemon ended before it had recorded the caller (it was killed, or the "
             "power or the disk failed)";
    case CallerMissing::off:
      return "issued; callers are not recorded (daemon.history_callers)";
    case CallerMissing::dropped:
      return "issued; the history no longer has the caller";
    case CallerMissing::hidden:
      return "issued; the caller is shown to administrators only (daemon.admins)";
    case CallerMissing::no:
      break;
  }
  return "issued";
}

Explanation leased(const IdFacts& facts) {
  const bool is_gap = facts.history.gap && facts.history.gap->gap.cause != kReturned;
  if (facts.history.issue && is_gap) {
    return {IdFate::issued, "issued, and counted as a gap (" + facts.history.gap->gap.cause +
                                "), because the log had lost the issue"};
  }
  if (facts.history.issue) {
    return {IdFate::issued, issued_text(*facts.history.issue)};
  }
  if (facts.history.gap && !is_gap) return returned(facts);
  if (is_gap) {
    return {IdFate::gap, "will never be issued: " + facts.history.gap->gap.cause};
  }
  if (facts.ordinal < facts.history.issues_forgotten_below) {
    return {IdFate::issued, "issued; time and caller are older than the history"};
  }
  return {IdFate::issued, "issued; time and caller were not recorded"};
}

}  // namespace

std::string_view fate_name(IdFate fate) {
  switch (fate) {
    case IdFate::issued:
      return "issued";
    case IdFate::gap:
      return "gap";
    case IdFate::available:
      return "available";
    case IdFate::block:
      return "block";
    case IdFate::returned:
      return "returned";
    case IdFate::not_issued:
      return "not_issued";
    case IdFate::leasing:
      return "leasing";
    case IdFate::elsewhere:
      return "elsewhere";
    case IdFate::older:
      break;
  }
  return "older";
}

bool needs_store(const IdFacts& facts) {
  const IdAnswer& history = facts.history;
  if (facts.available || facts.block || facts.returning || facts.forgotten) return false;
  if (history.issue || history.gap || history.lease) return false;
  return facts.ordinal >= history.leases_forgotten_below;
}

namespace {

Explanation advanced(const IdFacts& facts) {
  const HistoryAdvance& advance = *facts.history.advance;
  const std::string who = advance.uid ? "user " + std::to_string(*advance.uid) + " (process " +
                                            std::to_string(advance.pid) + ")"
                                      : "an administrator";
  return {IdFate::elsewhere,
          "never leased by this host: " + who + " advanced the counter here to " +
              std::to_string(to_external_near(facts.progression.get(), advance.end)) +
              ", above it; before that, another host or program may have taken it" +
              untraceable_text(facts.history)};
}

Explanation explain_ordinal(const IdFacts& facts) {
  const IdAnswer& history = facts.history;
  if (facts.available) return {IdFate::available, "available here, not issued yet"};
  if (facts.block) {
    return {IdFate::block, "in a block of " +
                               (facts.block_client.empty() ? "a client" : facts.block_client) +
                               ", which takes its IDs in its own process; which of them it took is "
                               "known when the block has ended"};
  }
  if (facts.returning) {
    return {IdFate::returned,
            "being returned to the store, which has not confirmed it yet; this host no longer "
            "issues it"};
  }
  if (history.issue || history.gap || history.lease) return leased(facts);
  if (facts.ordinal < history.leases_forgotten_below) {
    return {IdFate::older, "older than the history: issued here, or by another host"};
  }
  if (facts.forgotten) {
    return {IdFate::older,
            "the history has no record of it: the period is over, and none of the recorded leases "
            "of this host contains it" +
                untraceable_text(history)};
  }
  if (facts.counter && facts.counter->exists && facts.ordinal >= facts.counter->next_id) {
    return {IdFate::not_issued,
            "not issued yet: the next ID of the store is " +
                std::to_string(to_external_near(facts.progression.get(), facts.counter->next_id))};
  }
  if (facts.counter && !facts.counter->exists) {
    return {IdFate::not_issued, "not issued: the store has no such counter"};
  }
  if (history.advance) return advanced(facts);
  if (!facts.counter && facts.ordinal >= facts.high_water) {
    return {IdFate::not_issued,
            "not issued here, and above everything that this host has leased; the store could not "
            "be queried for leases of other hosts: " +
                facts.store.to_string()};
  }
  if (history.leased_before && facts.ordinal < history.first_lease.value_or(facts.high_water)) {
    return {IdFate::older, "from before the history began: issued here, or by another host"};
  }
  if (facts.leasing) {
    return {IdFate::leasing,
            "not issued here; a lease of this host is in flight and may contain it; try again"};
  }
  return {IdFate::elsewhere,
          "never leased by this host: another host or program has taken it, or the counter was "
          "raised above it" +
              untraceable_text(history)};
}

}  // namespace

Explanation explain(const IdFacts& facts) {
  Explanation explanation = explain_ordinal(facts);
  if (facts.times > 1) {
    explanation.text += "; this is the newest of " + std::to_string(facts.times) +
                        " times that the cycle reached it";
  }
  return explanation;
}

}  // namespace seqd
