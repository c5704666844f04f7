// What the answers of drain and decommission have in common: the words and the ranges of what was
// taken out of hand. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/core/drain.h"
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

inline void pack_spans(Packer& packer, std::string_view key,
                       const std::vector<DrainReport::Span>& spans) {
  packer.pack(key);
  packer.pack_array(static_cast<std::uint32_t>(spans.size()));
  for (const DrainReport::Span& span : spans) {
    packer.pack_array(2);
    packer.pack(span.begin);
    packer.pack(span.end - span.begin);
  }
}

}  // namespace seqd
