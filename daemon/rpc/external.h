// What callers see of the ordinals that the core counts: the same numbers, unless the sequence has
// a progression (daemon/core/settings/id_progression.h). Functions without state; loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/core/table/sequence_table.h"

namespace seqd {

// Null: the values are the ordinals.
using Progression = std::shared_ptr<const IdProgression>;

inline std::int64_t to_external(const IdProgression* progression, std::int64_t ordinal) {
  return progression == nullptr ? ordinal : progression->value(ordinal);
}

inline std::int64_t to_external(const Sequence& sequence, std::int64_t ordinal) {
  return to_external(sequence.settings().progression.compiled.get(), ordinal);
}

// For numbers that may be no ordinals: the next of a counter that has come to its end.
inline std::int64_t to_external_near(const IdProgression* progression, std::int64_t ordinal) {
  return progression == nullptr ? ordinal : progression->value_near(ordinal);
}

inline std::vector<Run> to_external(const IdProgression& progression, std::span<const Run> runs) {
  std::vector<Run> values;
  for (const Run& run : runs) progression.append_runs(run.first, run.count, values);
  return values;
}

// Of a period that was forgotten, that of the others. Null also where this daemon holds no sequence
// of that name.
inline Progression progression_of(const SequenceTable& table, std::string_view name) {
  const SequenceId present = table.find(name);
  const Sequence* const sequence =
      present != 0 ? &table.at(present) : table.sequences().find_any_period(name);
  return sequence == nullptr ? nullptr : sequence->settings().progression.compiled;
}

}  // namespace seqd
