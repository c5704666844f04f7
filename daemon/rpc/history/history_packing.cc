#include "daemon/rpc/history/history_packing.h"

#include "daemon/rpc/packing.h"

namespace seqd {
namespace {

void pack_token(Packer& packer, std::string_view key, const Token& token) {
  if (token == Token{}) return pack_nil(packer, key);
  pack_pair(packer, key, to_hex(token));
}

// One pair more where the values are not consecutive numbers.
std::uint32_t span_pairs(const IdProgression* progression) {
  return progression == nullptr ? 2 : 3;
}

void pack_span(Packer& packer, const IdProgression* progression, std::int64_t begin,
               std::int64_t end) {
  pack_pair(packer, "first", to_external(progression, begin));
  pack_pair(packer, "count", end - begin);
  if (progression != nullptr) pack_pair(packer, "last", to_external(progression, end - 1));
}

void pack_gap(Packer& packer, const IdProgression* progression, const GapRow& row) {
  const bool placed = row.gap.place_known;
  packer.pack_map((placed ? span_pairs(progression) : 2) + 6);
  pack_pair(packer, "number", row.number);
  if (placed) {
    pack_span(packer, progression, row.gap.begin, row.gap.end);
  } else {
    pack_nil(packer, "first");
    pack_pair(packer, "count", row.gap.end - row.gap.begin);
  }
  pack_pair(packer, "cause", row.gap.cause);
  pack_pair(packer, "at_ms", row.gap.wall_ms);
  pack_token(packer, "lease", row.gap.lease);
  pack_token(packer, "instance", row.gap.instance);
  pack_pair(packer, "host", row.host);
}

// Nil: every caller is named.
void pack_unnamed(Packer& packer, CallerMissing caller_missing) {
  switch (caller_missing) {
    case CallerMissing::no:
      return pack_nil(packer, "unnamed");
    case CallerMissing::lost:
      return pack_pair(packer, "unnamed", "lost");
    case CallerMissing::off:
      return pack_pair(packer, "unnamed", "off");
    case CallerMissing::dropped:
      return pack_pair(packer, "unnamed", "dropped");
    case CallerMissing::hidden:
      return pack_pair(packer, "unnamed", "administrators");
  }
}

void pack_issue(Packer& packer, const IdProgression* progression, const IssueRow& row) {
  packer.pack_map(span_pairs(progression) + 5);
  pack_span(packer, progression, row.span.begin, row.span.end);
  pack_pair(packer, "from_ms", row.span.first_ms);
  pack_pair(packer, "to_ms", row.span.last_ms);
  packer.pack("callers");
  packer.pack_array(static_cast<std::uint32_t>(row.callers.size()));
  for (const HistoryCaller& caller : row.callers) {
    packer.pack_map(3);
    pack_pair(packer, "uid", caller.uid);
    pack_pair(packer, "pid", caller.pid);
    pack_pair(packer, "name", caller.name);
  }
  pack_pair(packer, "others", row.span.others);
  pack_unnamed(packer, row.caller_missing);
}

void pack_lease(Packer& packer, const IdFacts& facts) {
  packer.pack("lease");
  if (!facts.history.lease) {
    if (facts.lease == Token{}) {
      packer.pack_nil();
      return;
    }
    packer.pack_map(1);
    pack_token(packer, "lease", facts.lease);
    return;
  }
  const LeaseRow& row = *facts.history.lease;
  packer.pack_map(span_pairs(facts.progression.get()) + 5);
  pack_token(packer, "lease", row.lease.lease);
  pack_span(packer, facts.progression.get(), row.lease.begin, row.lease.end);
  pack_pair(packer, "at_ms", row.lease.wall_ms);
  pack_token(packer, "instance", row.lease.instance);
  pack_pair(packer, "host", row.host);
  pack_pair(packer, "whole", row.lease.whole);
}

void pack_sums(Packer& packer, std::string_view key, const SequenceTotals& sums) {
  packer.pack(key);
  packer.pack_map(5);
  pack_pair(packer, "leased", sums.leased);
  pack_pair(packer, "issued", sums.issued);
  pack_pair(packer, "returned", sums.returned);
  pack_pair(packer, "gaps", sums.gaps);
  pack_pair(packer, "unknown", sums.unknown);
}

void pack_history(Packer& packer, const AuditFacts& facts, const Audit& result) {
  const SumsAnswer& history = facts.history;
  packer.pack("history");
  if (!history.known) {
    packer.pack_nil();
    return;
  }
  packer.pack_map(10);
  pack_sums(packer, "kept", history.rows);
  pack_sums(packer, "dropped", history.dropped);
  pack_sums(packer, "recorded", history.recorded);
  pack_sums(packer, "adjusted", history.adjust);
  pack_sums(packer, "missing", result.missing);
  pack_pair(packer, "issued_twice", history.issued_twice);
  pack_pair(packer, "issued_and_gap", history.issued_and_gap);
  pack_pair(packer, "spans", history.issue_rows);
  pack_pair(packer, "since_ms", history.began_ms);
  pack_pair(packer, "size", history.size);
}

void pack_granted(Packer& packer, std::string_view key, const CounterReading::Granted& granted) {
  packer.pack(key);
  packer.pack_map(2);
  pack_pair(packer, "leases", granted.leases);
  pack_pair(packer, "ids", granted.ids);
}

void pack_parked(Packer& packer, const CounterReading::Parked& parked) {
  packer.pack("parked");
  packer.pack_map(2);
  pack_pair(packer, "ranges", parked.ranges);
  pack_pair(packer, "ids", parked.ids);
}

void pack_store(Packer& packer, const AuditFacts& facts) {
  packer.pack("store");
  if (!facts.counter) {
    packer.pack_map(1);
    pack_pair(packer, "error", facts.store.to_string());
    return;
  }
  const CounterReading& counter = *facts.counter;
  packer.pack_map(counter.totals ? 7 : 4);
  pack_nil(packer, "error");
  pack_pair(packer, "exists", counter.exists);
  pack_pair(packer, "next", to_external_near(facts.progression.get(), counter.next_id));
  pack_parked(packer, counter.parked);
  if (!counter.totals) return;
  pack_pair(packer, "since", to_external_near(facts.progression.get(), counter.totals->since));
  pack_granted(packer, "ours", counter.totals->ours);
  pack_granted(packer, "all", counter.totals->all);
}

}  // namespace

void pack_gaps(protocol::Buffer& out, const std::string& name, const IdProgression* progression,
               const GapsAnswer& answer) {
  Packer packer(out);
  packer.pack_map(5);
  pack_pair(packer, "name", name);
  packer.pack("gaps");
  packer.pack_array(static_cast<std::uint32_t>(answer.rows.size()));
  for (const GapRow& row : answer.rows) pack_gap(packer, progression, row);
  pack_pair(packer, "more", answer.more);
  pack_pair(packer, "dropped_ids", answer.dropped.gaps);
  pack_pair(packer, "dropped_leases", answer.dropped.unknown);
}

void pack_explanation(protocol::Buffer& out, const std::string& name, const IdFacts& facts) {
  const Explanation explanation = explain(facts);
  Packer packer(out);
  const IdProgression* const progression = facts.progression.get();
  const bool cycles = progression != nullptr && progression->form().cycle;
  packer.pack_map(cycles ? 8 : 7);
  pack_pair(packer, "name", name);
  pack_pair(packer, "id", facts.id);
  if (cycles) pack_pair(packer, "times", facts.times);
  pack_pair(packer, "answer", fate_name(explanation.fate));
  pack_pair(packer, "text", explanation.text);
  packer.pack("issued");
  if (facts.history.issue && !facts.available && !facts.block) {
    pack_issue(packer, progression, *facts.history.issue);
  } else {
    packer.pack_nil();
  }
  packer.pack("gap");
  if (facts.history.gap) {
    pack_gap(packer, progression, *facts.history.gap);
  } else {
    packer.pack_nil();
  }
  pack_lease(packer, facts);
}

void pack_audit(protocol::Buffer& out, const std::string& name, const AuditFacts& facts) {
  const Audit result = audit(facts);
  Packer packer(out);
  packer.pack_map(15);
  pack_pair(packer, "name", name);
  pack_pair(packer, "forgotten", facts.forgotten);
  pack_pair(packer, "good", result.problems.empty());
  packer.pack("problems");
  packer.pack(result.problems);
  pack_pair(packer, "leased", facts.totals.leased);
  pack_pair(packer, "issued", facts.totals.issued);
  pack_pair(packer, "available", facts.available);
  pack_pair(packer, "out", facts.out);
  pack_pair(packer, "returning", facts.returning);
  pack_pair(packer, "returned", facts.totals.returned);
  pack_pair(packer, "gaps", facts.totals.gaps);
  pack_pair(packer, "unknown", facts.totals.unknown);
  pack_pair(packer, "unaccounted", result.unaccounted);
  pack_history(packer, facts, result);
  pack_store(packer, facts);
}

}  // namespace seqd
