// Two hostile log files through recovery. The check sums are made right first, as a malicious
// writer would, so that the decoders behind them are reached; then the bytes as they are. Whatever
// comes out, the image must be its own snapshot's image.

// link: protocol protocol/* daemon/base daemon/base/* daemon/core daemon/core/* daemon/state

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "daemon/state/recovery.h"
#include "daemon/state/segment.h"

namespace {

class Bytes final : public seqd::File {
 public:
  explicit Bytes(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  seqd::Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
    return count;
  }
  seqd::Status write_at(std::uint64_t, std::span<const std::uint8_t>) override { return {}; }
  seqd::Status sync_data() override { return {}; }
  seqd::Status allocate(std::uint64_t) override { return {}; }
  seqd::Result<std::uint64_t> size() override { return std::uint64_t{bytes_.size()}; }
  seqd::FileIdentity identity() const override { return {}; }

 private:
  std::vector<std::uint8_t> bytes_;
};

void recover_and_check(std::vector<std::uint8_t> first, std::vector<std::uint8_t> second) {
  Bytes one(std::move(first));
  Bytes two(std::move(second));
  const seqd::Result<seqd::Recovered> recovered = seqd::recover(one, two, true);
  if (!recovered.ok() || recovered->file < 0) return;
  seqd::StateImage again;
  recovered->image.snapshot([&](const seqd::LogEntry& entry) {
    if (!again.apply(entry).ok()) std::abort();
  });
  if (!(again == recovered->image)) std::abort();
}

// The first half of the input is the entries of the snapshot, the rest those of a turn.
std::vector<std::uint8_t> well_framed(std::span<const std::uint8_t> input) {
  seqd::SegmentHeader header;
  header.number = 1;
  const std::uint32_t seed = seqd::record_seed(header);
  const seqd::Sector sector = seqd::encode_header(header);
  std::vector<std::uint8_t> bytes(sector.begin(), sector.end());
  bytes.resize(seqd::records_offset);
  const std::size_t half = input.size() / 2;
  for (const bool turn : {false, true}) {
    const std::size_t start = bytes.size();
    seqd::begin_record(bytes, turn ? seqd::RecordKind::turn : seqd::RecordKind::snapshot_end,
                       turn ? 1 : 0, 0);
    const auto entries = turn ? input.subspan(half) : input.first(half);
    bytes.insert(bytes.end(), entries.begin(), entries.end());
    seqd::end_record(bytes, start, seed);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> input(data, size);
  recover_and_check(well_framed(input), {input.begin(), input.end()});
  recover_and_check({input.begin(), input.end()}, {});
  return 0;
}
