// LogTail: the turns that are not yet in the log file. They lie in the witness's memory, where they
// outlive a kill -9 as they would in the page cache, but a turn costs no system call. The StateLog
// writes them to the file in one piece, before every flush at the latest; after a kill the next
// start does. Loop thread.
//
// Invariant, whenever the process is killed: the file up to `offset`, then these bytes, is the log.
// They belong to one segment, named by its salt; for any other they mean nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace seqd {

class LogTail {
 public:
  static constexpr std::size_t size = std::size_t{64} << 10;  // of its memory

  // What a process that was killed left.
  struct Content {
    std::uint64_t salt = 0;    // of the segment
    std::uint64_t offset = 0;  // in the segment's file
    std::span<const std::uint8_t> bytes;
  };

  // `memory` outlives it and is aligned for 64-bit stores. In one that is too small there is no
  // room for anything.
  explicit LogTail(std::span<std::uint8_t> memory);
  // The same tail in another memory of the same size.
  void move_to(std::span<std::uint8_t> memory);

  // Nothing when it is empty or cannot be true.
  std::optional<Content> read() const;
  // Empties the tail; it continues at `offset`. Everything before is in the file.
  void begin(std::uint64_t salt, std::uint64_t offset);
  // False, and nothing is changed, when there is no room.
  bool append(std::span<const std::uint8_t> bytes);
  std::span<const std::uint8_t> bytes() const { return room_.first(used_); }

 private:
  std::span<std::uint8_t> memory_;  // what read() needs to know
  std::span<std::uint8_t> room_;    // the bytes themselves
  std::size_t used_ = 0;            // as it is in memory
};

}  // namespace seqd
