// The bytes that begin a segment: header, empty seal and the whole snapshot. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/core/log/remainder_log.h"
#include "daemon/state/segment.h"

namespace seqd {

// To be written at offset 0; turns follow behind it.
std::vector<std::uint8_t> encode_segment(const SegmentHeader& header, const SnapshotSource& source);

}  // namespace seqd
