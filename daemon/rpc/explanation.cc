#include "daemon/rpc/explanation.h"

namespace seqd {
namespace {

std::string untraceable_text(const IdAnswer& history) {
  if (history.untraceable == 0) return {};
  return "; or it is in one of the " + std::to_string(history.untraceable) +
         " leases of this host whose outcome cannot be traced";
}

// Whether the last that happened to the ID here is that it was given back.
bool given_back(const IdAnswer& history) {
  if (!history.gap || history.gap->gap.cause != kGivenBack || history.issue) return false;
  return !history.lease || history.lease->lease.wall_ms <= history.gap->gap.wall_ms;
}

Explanation leased(const IdFacts& facts) {
  const bool is_gap = facts.history.gap && facts.history.gap->gap.cause != kGivenBack;
  if (facts.history.issue && is_gap) {
    return {IdFate::issued, "issued, and counted as a gap (" + facts.history.gap->gap.cause +
                                ") all the same, because the log had lost that it was issued"};
  }
  if (facts.history.issue) {
    const bool unnamed = facts.history.issue->callers.empty();
    return {IdFate::issued, unnamed ? "issued before the daemon was killed or lost power; the "
                                      "caller was not written down"
                                    : "issued"};
  }
  if (given_back(facts.history)) {
    return {IdFate::given_back,
            "given back to the store; not this host's any more: whoever leases it next may issue "
            "it"};
  }
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
    case IdFate::in_hand:
      return "in_hand";
    case IdFate::given_back:
      return "given_back";
    case IdFate::not_issued:
      return "not_issued";
    case IdFate::elsewhere:
      return "elsewhere";
    case IdFate::older:
      break;
  }
  return "older";
}

bool needs_store(const IdFacts& facts) {
  const IdAnswer& history = facts.history;
  if (facts.in_hand || facts.on_its_way || history.issue || history.gap || history.lease)
    return false;
  return facts.id >= history.leases_forgotten_below;
}

namespace {

Explanation explain_position(const IdFacts& facts) {
  const IdAnswer& history = facts.history;
  if (facts.in_hand) return {IdFate::in_hand, "in hand here, not issued yet"};
  if (facts.on_its_way) {
    return {IdFate::given_back,
            "on its way back to the store, which has not confirmed it yet; not issued here any "
            "more"};
  }
  if (history.issue || history.gap || history.lease) return leased(facts);
  if (facts.id < history.leases_forgotten_below) {
    return {IdFate::older, "older than what is kept: issued here, or another host's"};
  }
  if (facts.counter && facts.counter->exists && facts.id >= facts.counter->next_id) {
    return {IdFate::not_issued,
            "not issued by anybody yet: the next ID of the store is " +
                std::to_string(shown_near(facts.shape.get(), facts.counter->next_id))};
  }
  if (facts.counter && !facts.counter->exists) {
    return {IdFate::not_issued, "not issued by anybody: the store has no such counter"};
  }
  if (!facts.counter && facts.id >= facts.guard) {
    return {IdFate::not_issued,
            "not issued here, and above everything this host has leased; whether another host has "
            "it the store could not be asked: " +
                facts.store.to_string()};
  }
  if (history.leased_before && facts.id < history.first_lease) {
    return {IdFate::older, "from before the history began: issued here, or another host's"};
  }
  return {IdFate::elsewhere, "never leased by this host: another host or program has taken it" +
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
