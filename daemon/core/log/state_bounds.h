// StateBounds: how large the state may become, so that a snapshot of it always fits the log. A
// start and a rotation hold to the same bound, fits(); what the daemon accepts is counted with the
// bytes that its entries may take in a snapshot at most, and three parts of the log are set aside:
// for sequences with their ranges, for clients, and for issues kept for repeats. Together they are
// what fits. A value; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace seqd {

class StateBounds {
 public:
  // What entries take at most (LOG-FORMAT.md); state_bounds_test.cc holds the encoder against it.
  static constexpr std::int64_t kScopeBytes = 496;
  static constexpr std::int64_t kClientBytes = 64;
  static constexpr std::int64_t kIssueBytes = 64;
  static constexpr std::int64_t kRangeBytes = 56;
  // A sequence with this many available ranges, and a lease or a return under way; its texts come
  // to that, and what is known of its name.
  static constexpr std::int64_t kRangesIncluded = 2;
  static constexpr std::int64_t kSequenceBytes = 384;
  // A name (DefineName) without its texts: every form of its texts comes to that. No name is
  // without a sequence, so each sequence is counted with one.
  static constexpr std::int64_t kNameBytes = 144;
  static constexpr std::int64_t kFormBytes = 3;
  static constexpr std::int64_t kBlockEndBytes = 64;
  // A register (RegisterReached) without its name.
  static constexpr std::int64_t kRegisterBytes = 384;
  // What the configuration counts for a sequence, texts included.
  static constexpr std::int64_t kTypicalSequenceBytes = 640;

  explicit constexpr StateBounds(std::uint64_t state_log_size) : size_(state_log_size) {}

  // Whether a segment that begins with so many bytes, header and snapshot, leaves the last
  // sixteenth of the log for entries that are no issues.
  constexpr bool fits(std::uint64_t segment_bytes) const {
    return segment_bytes + headroom() <= size_;
  }
  constexpr std::uint64_t headroom() const { return size_ / 16; }

  constexpr std::int64_t sequence_bytes() const { return static_cast<std::int64_t>(size_ / 8 * 5); }
  constexpr std::size_t clients() const {
    return static_cast<std::size_t>(size_ / 16) / kClientBytes;
  }
  constexpr std::size_t issues() const { return static_cast<std::size_t>(size_ / 4) / kIssueBytes; }

  // Blocks that may be out: all of them may end in one turn, within half of the headroom.
  constexpr std::int64_t blocks() const {
    return static_cast<std::int64_t>(headroom() / 2) / kBlockEndBytes;
  }

  // The least log for so many.
  static constexpr std::int64_t log_size_for_sequences(std::int64_t sequences) {
    return sequences * kTypicalSequenceBytes / 5 * 8;
  }
  static constexpr std::int64_t log_size_for_clients(std::int64_t clients) {
    return clients * kClientBytes * 16;
  }

 private:
  std::uint64_t size_;
};

}  // namespace seqd
