// The entry of the log about a name: what is known of all sequences of that name, those of its
// periods together, for longer than each of them is kept. See log_entry.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace seqd {

// Whole periods, from the beginning of the first to the end of the last: seconds since 1970, UTC.
struct PeriodSpan {
  std::int64_t begin_s = 0;
  std::int64_t end_s = 0;
  // The highest high-water mark of them (DefineSequence::high_water): no ID at or above it was
  // leased here.
  std::int64_t high_water = 0;
  bool operator==(const PeriodSpan&) const = default;
};

// Defines a name, or replaces what is known of it. Every name has one since its first use.
struct DefineName {
  static constexpr std::size_t kMostForgotten = 4;
  static constexpr std::size_t kMostForms = 16;

  std::string name;  // without a period
  // The beginning of the newest period that was begun, unless an operator has said that the clock
  // was ahead then (SequenceTable::confirm_clock()).
  std::int64_t newest_s = 0;
  // In which spans the periods lie of which something was used and whose sequences were forgotten:
  // in order, without overlaps, at most kMostForgotten.
  std::vector<PeriodSpan> forgotten;
  // In which forms texts were issued (daemon/core/names/id_form.h), at most kMostForms.
  std::vector<std::string> forms;
  bool operator==(const DefineName&) const = default;
};

// Whether they are what DefineName::forgotten may be: in order, without overlaps, not too many.
bool are_spans(const std::vector<PeriodSpan>& forgotten);

}  // namespace seqd
