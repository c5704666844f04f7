#include "daemon/rpc/explanation.h"

#include <limits>

namespace seqd {
namespace {

std::string untraceable_text(const IdAnswer& history) {
  if (history.untraceable == 0) return {};
  return "; or it is in one of the " + std::to_string(history.untraceable) +
         " leases of this host whose outcome cannot be traced";
}

// The ID was returned, and neither issued nor lost since, as far as is written down. A lease that
// the clock puts behind that may be one, or one before it by a clock that was ahead.
Explanation returned(const IdFacts& facts) {
  const IdAnswer& history = facts.history;
  const std::optional<LeaseRow>& lease = history.lease;
  const std::int64_t kept_since_ms =
      history.oldest_lease_ms.value_or(std::numeric_limits<std::int64_t>::max());
  if (!lease && facts.id < history.leases_forgotten_below &&
      history.gap->gap.wall_ms < kept_since_ms) {
    return {IdFate::older,
            "returned to the store; whether this host leased and issued it again is older than "
            "what is kept"};
  }
  if (lease && lease->lease.wall_ms > history.gap->gap.wall_ms) {
    return {IdFate::older,
            "returned to the store, and perhaps leased by this host again; what became of it then "
            "is not kept"};
  }
  return {IdFate::returned,
          "returned to the store; not this host's any more: whoever leases it next may issue it"};
}

std::string issued_text(const IssueRow& issue) {
  if (!issue.callers.empty()) return "issued";
  switch (issue.unnamed) {
    case Unnamed::lost:
      return "issued; the daemon ended before it had written down who the caller was (it was "
             "killed, or the power or the disk failed)";
    case Unnamed::off:
      return "issued; callers are not recorded (daemon.history_callers)";
    case Unnamed::dropped:
      return "issued; who the caller was is not kept any more";
    case Unnamed::not_told:
      return "issued; the caller is shown to administrators only (daemon.admins)";
    case Unnamed::nobody:
      break;
  }
  return "issued";
}

Explanation leased(const IdFacts& facts) {
  const bool is_gap = facts.history.gap && facts.history.gap->gap.cause != kReturned;
  if (facts.history.issue && is_gap) {
    return {IdFate::issued, "issued, and counted as a gap (" + facts.history.gap->gap.cause +
                                ") all the same, because the log had lost that it was issued"};
  }
  if (facts.history.issue) {
    return {IdFate::issued, issued_text(*facts.history.issue)};
  }
  if (facts.history.gap && !is_gap) return returned(facts);
  if (is_gap) {
    return {IdFate::gap, "will never be issued: " + facts.history.gap->gap.cause};
  }
  if (facts.id < facts.history.issues_forgotten_below) {
    return {IdFate::issued, "issued; when and to whom is older than what is kept"};
  }
  return {IdFate::issued, "issued; when and to whom was not written down"};
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
  return facts.id >= history.leases_forgotten_below;
}

namespace {

Explanation explain_position(const IdFacts& facts) {
  const IdAnswer& history = facts.history;
  if (facts.available) return {IdFate::available, "available here, not issued yet"};
  if (facts.block) {
    return {IdFate::block,
            "in a block of " + (facts.block_client.empty() ? "a client" : facts.block_client) +
                ", which takes the IDs of it in its own process; how far it has come "
                "is known when the block is over"};
  }
  if (facts.returning) {
    return {IdFate::returned,
            "being returned to the store, which has not confirmed it yet; not issued here any "
            "more"};
  }
  if (history.issue || history.gap || history.lease) return leased(facts);
  if (facts.id < history.leases_forgotten_below) {
    return {IdFate::older, "older than what is kept: issued here, or another host's"};
  }
  if (facts.forgotten) {
    return {IdFate::older,
            "nothing of it is kept: the period is over, and no lease of this host that is kept has "
            "it" +
                untraceable_text(history)};
  }
  if (facts.counter && facts.counter->exists && facts.id >= facts.counter->next_id) {
    return {IdFate::not_issued,
            "not issued by anybody yet: the next ID of the store is " +
                std::to_string(to_external_near(facts.progression.get(), facts.counter->next_id))};
  }
  if (facts.counter && !facts.counter->exists) {
    return {IdFate::not_issued, "not issued by anybody: the store has no such counter"};
  }
  if (!facts.counter && facts.id >= facts.high_water) {
    return {IdFate::not_issued,
            "not issued here, and above everything this host has leased; whether another host has "
            "it the store could not be asked: " +
                facts.store.to_string()};
  }
  if (history.leased_before && facts.id < history.first_lease.value_or(facts.high_water)) {
    return {IdFate::older, "from before the history began: issued here, or another host's"};
  }
  if (facts.leasing) {
    return {IdFate::leasing,
            "not issued here; a lease of this host is under way, and may have it; ask again"};
  }
  return {IdFate::elsewhere,
          "never leased by this host: another host or program has taken it, or the "
          "counter was moved past it" +
              untraceable_text(history)};
}

}  // namespace

Explanation explain(const IdFacts& facts) {
  Explanation explanation = explain_position(facts);
  if (facts.times > 1) {
    explanation.text += "; this is the newest of " + std::to_string(facts.times) +
                        " times that the cycle came to it";
  }
  return explanation;
}

}  // namespace seqd
