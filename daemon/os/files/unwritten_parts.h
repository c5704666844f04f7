// The parts of a file whose blocks are set aside and were never written, or are shared with a copy.
//
// The first write to such a block also changes the file's map of blocks. When a file system has
// just stopped writing (it met a damaged block, or its disk went away), ext4 drops that change and
// nevertheless reports a sync of the data as done (seen with Linux 6.18): after the next mount the
// block reads as zeros. A write to a block that was written before changes no map.
#pragma once

#include <cstdint>
#include <vector>

namespace seqd {

struct FilePart {
  std::uint64_t offset = 0;  // bytes
  std::uint64_t size = 0;
  bool operator==(const FilePart&) const = default;
};

// Sets `found` to those parts of the first `size` bytes of an open file, in their order. Returns 0,
// or the errno of a file system that has no such map (tmpfs).
int find_unwritten_parts(int descriptor, std::uint64_t size, std::vector<FilePart>& found);

}  // namespace seqd
