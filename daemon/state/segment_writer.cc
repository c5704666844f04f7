#include "daemon/state/segment_writer.h"

#include "daemon/state/log_format.h"

namespace seqd {
namespace {

// A part is ended when it is this long: what a reader has to hold at a time.
constexpr std::size_t part_size = 256 * 1024;

}  // namespace

std::vector<std::uint8_t> encode_segment(const SegmentHeader& header,
                                         const SnapshotSource& source) {
  const std::uint32_t seed = record_seed(header);
  const Sector sector = encode_header(header);
  std::vector<std::uint8_t> bytes(sector.begin(), sector.end());
  bytes.resize(records_offset);
  std::size_t start = bytes.size();
  begin_record(bytes, RecordKind::snapshot_part, header.base, header.base);
  source.snapshot([&](const LogEntry& entry) {
    if (bytes.size() - start >= part_size) {
      end_record(bytes, start, seed);
      start = bytes.size();
      begin_record(bytes, RecordKind::snapshot_part, header.base, header.base);
    }
    encode_entry(bytes, entry);
  });
  // Which part is the last is known only now.
  bytes[start + frame_size] = static_cast<std::uint8_t>(RecordKind::snapshot_end);
  end_record(bytes, start, seed);
  return bytes;
}

}  // namespace seqd
