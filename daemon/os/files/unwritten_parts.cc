#include "daemon/os/files/unwritten_parts.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <new>
#include <span>

namespace seqd {
namespace {

constexpr std::size_t extents_at_a_time = 64;
// A block that a copy of the file shares is another one after the first write to it.
constexpr std::uint32_t changes_the_map = FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_SHARED;

}  // namespace

int find_unwritten_parts(int descriptor, std::uint64_t size, std::vector<FilePart>& found) {
  found.clear();
  alignas(fiemap)
      std::array<std::byte, sizeof(fiemap) + (extents_at_a_time * sizeof(fiemap_extent))>
          room{};
  auto* const map = new (room.data()) fiemap();
  std::uint64_t at = 0;
  while (at < size) {
    map->fm_start = at;
    map->fm_length = size - at;
    // What is only in memory as yet is written first: it may be in such a block.
    map->fm_flags = FIEMAP_FLAG_SYNC;
    map->fm_extent_count = extents_at_a_time;
    if (::ioctl(descriptor, FS_IOC_FIEMAP, map) != 0) return errno;
    if (map->fm_mapped_extents == 0) break;
    std::uint64_t next = at;
    for (const fiemap_extent& extent : std::span(map->fm_extents, map->fm_mapped_extents)) {
      const std::uint64_t end = std::min<std::uint64_t>(extent.fe_logical + extent.fe_length, size);
      const std::uint64_t begin = std::max<std::uint64_t>(extent.fe_logical, at);
      if ((extent.fe_flags & changes_the_map) != 0 && begin < end)
        found.push_back({begin, end - begin});
      next = std::max(next, end);
      if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0) return 0;
    }
    if (next == at) return EIO;
    at = next;
  }
  return 0;
}

}  // namespace seqd
