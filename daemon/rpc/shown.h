// What callers see of the positions that the core counts: the same numbers, unless the sequence has
// a shape (daemon/core/sequence/id_shape.h). Functions without state; loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/core/table/sequence_table.h"

namespace seqd {

// Null: the values are the positions.
using Shape = std::shared_ptr<const IdShape>;

inline std::int64_t shown(const IdShape* shape, std::int64_t position) {
  return shape == nullptr ? position : shape->value(position);
}

inline std::int64_t shown(const Sequence& sequence, std::int64_t position) {
  return shown(sequence.settings().shape.made.get(), position);
}

// For numbers that may be no positions: the next of a counter that has come to its end.
inline std::int64_t shown_near(const IdShape* shape, std::int64_t position) {
  return shape == nullptr ? position : shape->value_near(position);
}

inline std::vector<Run> shown(const IdShape& shape, std::span<const Run> runs) {
  std::vector<Run> values;
  for (const Run& run : runs) shape.append_runs(run.first, run.count, values);
  return values;
}

// Of a period that was forgotten, that of the others. Null also where this daemon holds no sequence
// of that name.
inline Shape shape_of(const SequenceTable& table, std::string_view name) {
  SequenceId sequence = table.find(name);
  if (sequence == 0) sequence = table.any_period_of(name);
  return sequence == 0 ? nullptr : table.at(sequence).settings().shape.made;
}

}  // namespace seqd
