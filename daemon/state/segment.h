// Segment: the frame of the log files: header, seal and records, and nothing of what the entries
// mean. Pure functions on bytes; any thread. Layout: daemon/doc/LOG-FORMAT.md.
//
// Invariant: the check sum of a record starts from its segment's header, which holds a random salt:
// bytes that an earlier life of the file left behind are never taken for a record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/core/log/remainder_log.h"
#include "daemon/core/words/token.h"
#include "daemon/state/log_format.h"

namespace seqd {

// The version of the log that this seqd writes, and the only one that it reads: 1 to 3 were those
// of seqd 0.1 and of versions after it, which were never released. A release whose log has an entry
// or a field that the release before does not know is of a version of its own
// (daemon/doc/LOG-FORMAT.md has the table).
constexpr std::uint32_t log_version = 4;

struct SegmentHeader {
  std::uint64_t number = 0;  // grows by at least one with every segment; 1 is the first
  LogPosition base = 0;      // position of the snapshot
  Token boot_id{};           // the boot in which the segment was begun
  Token nonce{};             // what the witness must say for the segment to be trusted after a kill
  std::uint64_t salt = 0;
  std::int64_t wall_ms = 0;  // for people
  std::uint32_t version = log_version;
  bool operator==(const SegmentHeader&) const = default;
};

constexpr std::size_t sector_size = 512;
constexpr std::uint64_t seal_offset = sector_size;
constexpr std::uint64_t records_offset = 2 * sector_size;
constexpr std::size_t frame_size = 8;  // length and check sum in front of a record's body
constexpr std::size_t smallest_record = frame_size + 3;  // kind, position, lag
constexpr std::size_t largest_head = frame_size + 1 + 2 * longest_number;
// No daemon counts this far; what claims to is damaged. Leaves room to add without overflow.
constexpr std::uint64_t max_count = std::uint64_t{1} << 62;

using Sector = std::array<std::uint8_t, sector_size>;

Sector encode_header(const SegmentHeader& header);

enum class HeaderFault : std::uint8_t {
  none,
  empty,            // all zero: made, never written
  damaged,          // not a header
  unknown_version,  // a whole header of a version that this seqd does not read
};
struct DecodedHeader {
  HeaderFault fault = HeaderFault::damaged;
  SegmentHeader header;  // where the version is unknown, nothing but it
};
DecodedHeader decode_header(std::span<const std::uint8_t> sector);

// Where the check sums of the segment's records start.
std::uint32_t record_seed(const SegmentHeader& header);

// The seal says that a newer segment was on the medium: this one alone is not the state.
Sector encode_seal(const SegmentHeader& sealed, std::uint64_t superseded_by);
// True also when the sector is neither empty nor a whole seal: when in doubt it is not the state.
bool is_sealed(std::span<const std::uint8_t> sector, const SegmentHeader& header);

enum class RecordKind : std::uint8_t {
  turn = 0,
  snapshot_part = 1,
  snapshot_end = 2,  // the last part: the snapshot is whole
};

struct Record {
  RecordKind kind = RecordKind::turn;
  LogPosition position = 0;
  LogPosition durable = 0;  // what was known to be on the medium when the record was written
  std::span<const std::uint8_t> entries;
  std::size_t size = 0;  // of frame and body
};

// Begins a record at the end of `out`; entries are then appended to it, and end_record() completes
// the frame of the record that starts at `start`.
void begin_record(std::vector<std::uint8_t>& out, RecordKind kind, LogPosition position,
                  LogPosition durable);
void end_record(std::vector<std::uint8_t>& out, std::size_t start, std::uint32_t seed);

// How many bytes a record needs that starts with these; nothing when they are too few (8) or the
// length is impossible.
std::optional<std::size_t> record_size(std::span<const std::uint8_t> bytes);
// What the start of `bytes` says of its record, or nothing when it can be none. The check sum is
// not looked at, and the end of the record may be missing; `largest_head` bytes are enough.
std::optional<Record> claimed_record(std::span<const std::uint8_t> bytes);
// The record at the start of `bytes`, or nothing when it is not whole.
std::optional<Record> decode_record(std::span<const std::uint8_t> bytes, std::uint32_t seed);

}  // namespace seqd
