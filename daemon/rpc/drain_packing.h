// What the answers of drain and decommission have in common: the words and the ranges of what was
// released. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/core/sequence/drain.h"
#include "daemon/core/settings/id_progression.h"
#include "daemon/rpc/packing.h"

namespace seqd {

inline std::string_view reuse_word(Reuse reuse) {
  switch (reuse) {
    case Reuse::tail:
      return "tail";
    case Reuse::parked:
      return "parked";
    case Reuse::never:
      break;
  }
  return "never";
}

// Values of a progression are pieces of one step each.
inline void pack_spans(Packer& packer, std::string_view key, const IdProgression* progression,
                       const std::vector<DrainReport::Span>& spans) {
  std::vector<Run> runs;
  for (const DrainReport::Span& span : spans) {
    const std::int64_t count = span.end - span.begin;
    if (progression == nullptr) {
      runs.push_back({span.begin, count, 1});
    } else {
      progression->append_runs(span.begin, count, runs);
    }
  }
  packer.pack(key);
  packer.pack_array(static_cast<std::uint32_t>(runs.size()));
  for (const Run& run : runs) {
    packer.pack_array(2);
    packer.pack(run.first);
    packer.pack(run.count);
  }
}

}  // namespace seqd
