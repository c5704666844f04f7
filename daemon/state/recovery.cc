#include "daemon/state/recovery.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/state/log_format.h"
#include "daemon/state/state_log.h"

namespace seqd {
namespace {

// A file, read from its start as far as needed: most of a log file has never been written.
class Window {
 public:
  explicit Window(File& file) : file_(file) {}

  // Everything from `offset` on; at least `count` bytes unless the file ends before.
  Result<std::span<const std::uint8_t>> at(std::size_t offset, std::size_t count) {
    if (offset + count > bytes_.size() && !at_end_) {
      Status status = grow(offset + count);
      if (!status.ok()) return status;
    }
    return std::span<const std::uint8_t>(bytes_).subspan(std::min(offset, bytes_.size()));
  }

  std::vector<std::uint8_t> take(std::size_t count) {
    ASSERT(count <= bytes_.size());
    bytes_.resize(count);
    return std::move(bytes_);
  }

 private:
  static constexpr std::size_t step = 256 * 1024;

  Status grow(std::size_t wanted) {
    // The bytes behind the last record are those of an earlier life of the file: a length in them
    // is not a reason to allocate memory. And no seqd writes beyond max_size.
    Result<std::uint64_t> size = file_.size();
    if (!size.ok()) return size.status();
    const std::size_t most = std::min<std::size_t>(*size, StateLog::max_size);
    wanted = std::min((wanted + step - 1) / step * step, most);
    const std::size_t had = bytes_.size();
    at_end_ = wanted == most;
    if (wanted <= had) return {};
    bytes_.resize(wanted);
    Result<std::size_t> got = file_.read_at(had, std::span(bytes_).subspan(had));
    if (!got.ok()) return got.status();
    ASSERT(*got <= wanted - had);
    at_end_ = at_end_ || had + *got < wanted;
    bytes_.resize(had + *got);
    return {};
  }

  File& file_;
  std::vector<std::uint8_t> bytes_;
  bool at_end_ = false;
};

std::size_t leading_zeros(std::span<const std::uint8_t> bytes) {
  const auto first = std::find_if(bytes.begin(), bytes.end(), [](auto byte) { return byte != 0; });
  return static_cast<std::size_t>(first - bytes.begin());
}

struct Candidate {
  int index = 0;
  Window window;
  DecodedHeader decoded;
};

std::string place(int file, std::size_t offset) {
  return std::string(segment_names[file]) + " at byte " + std::to_string(offset);
}

Status makes_no_sense(const std::string& where, const Status& why) {
  return {ErrorCode::STATE_CORRUPT,
          where + ": " + why.text() +
              ". The record is whole, so this is no damage of the disk. If an older seqd reads the "
              "log of a newer one, start the newer one; otherwise move the file away (the "
              "available IDs are then lost) and report it"};
}

// Reads one segment, record by record.
class SegmentReader {
 public:
  SegmentReader(Candidate& candidate, Recovered& into, LogReader* reader)
      : window_(candidate.window),
        index_(candidate.index),
        seed_(record_seed(candidate.decoded.header)),
        into_(into),
        reader_(reader) {
    ASSERT(candidate.decoded.fault == HeaderFault::none);
    into_.header = candidate.decoded.header;
    if (reader_ != nullptr) reader_->segment_begins();
  }

  // True when the snapshot is whole; then the image is that of the last turn.
  Result<bool> read() {
    bool whole = false;
    for (;;) {
      Result<std::optional<Record>> record = read_record();
      if (!record.ok()) return record.status();
      if (!record->has_value()) break;
      const bool is_turn = (*record)->kind == RecordKind::turn;
      const LogPosition expected = into_.header.base + (is_turn ? turns_ + 1 : 0);
      // Check sums bind a record to its segment, so this is no left-over: it was written here.
      if (is_turn != whole || (*record)->position != expected) {
        return Status(ErrorCode::STATE_CORRUPT,
                      place(index_, offset_) + ": a record that does not follow the one before");
      }
      Status status = apply((*record)->entries, (*record)->position);
      if (!status.ok()) return status;
      if (is_turn) ++turns_;
      if ((*record)->kind == RecordKind::snapshot_end) whole = true;
      offset_ += (*record)->size;
    }
    into_.position = into_.header.base + turns_;
    return whole;
  }

  // Whether a later record shows that the one missing here was on the medium once. The search is
  // bounded; if it is given up, the answer is yes. Nothing depends on the answer no.
  Result<bool> is_rotten() {
    constexpr std::size_t work_limit = std::size_t{1} << 28;
    std::size_t work = 0;
    for (std::size_t offset = offset_ + 1;; ++offset) {
      auto bytes = window_.at(offset, largest_head);
      if (!bytes.ok()) return bytes.status();
      if (bytes->size() < frame_size) return false;
      // No record begins with four zeros, and most of a log file has never been written.
      const std::size_t zeros = leading_zeros(*bytes);
      if (zeros >= 4) {
        offset += zeros - 4;
        continue;
      }
      // An earlier segment leaves much that looks like a length, but its positions are lower.
      const std::optional<Record> claimed = claimed_record(*bytes);
      const std::size_t most = (offset - offset_) / smallest_record + 1;
      if (!claimed || claimed->size > StateLog::max_size || claimed->durable <= into_.position ||
          claimed->position - into_.position > most)
        continue;
      bytes = window_.at(offset, claimed->size);
      if (!bytes.ok()) return bytes.status();
      if (claimed->size > bytes->size()) continue;
      work += claimed->size;
      if (work > work_limit) return true;
      if (decode_record(*bytes, seed_)) return true;
    }
  }

  std::size_t offset() const { return offset_; }

 private:
  Result<std::optional<Record>> read_record() {
    auto bytes = window_.at(offset_, frame_size);
    if (!bytes.ok()) return bytes.status();
    const std::optional<std::size_t> size = record_size(*bytes);
    if (!size) return std::optional<Record>();
    bytes = window_.at(offset_, *size);
    if (!bytes.ok()) return bytes.status();
    return decode_record(*bytes, seed_);
  }

  Status apply(std::span<const std::uint8_t> entries, LogPosition position) {
    EntryReader reader(entries);
    while (!reader.at_end()) {
      Result<LogEntry> entry = reader.next();
      Status status = entry.ok() ? into_.image.apply(*entry) : entry.status();
      if (!status.ok()) {
        return makes_no_sense(place(index_, offset_), status);
      }
      if (reader_ != nullptr) reader_->entry(position, *entry);
    }
    return {};
  }

  Window& window_;
  const int index_;
  const std::uint32_t seed_;
  Recovered& into_;
  LogReader* const reader_;
  std::size_t offset_ = records_offset;
  std::uint64_t turns_ = 0;
};

Status look_at_header(Candidate& candidate, Recovered& recovered) {
  auto bytes = candidate.window.at(0, sector_size);
  if (!bytes.ok()) return bytes.status();
  candidate.decoded = decode_header(bytes->first(std::min(bytes->size(), sector_size)));
  const std::string name = segment_names[candidate.index];
  switch (candidate.decoded.fault) {
    case HeaderFault::unknown_version:
      return {ErrorCode::STATE_CORRUPT,
              name + " is of version " + std::to_string(candidate.decoded.header.version) +
                  ", and this seqd reads version " + std::to_string(log_version) +
                  ". Install the seqd that wrote it. Nothing was changed; do not delete the state "
                  "directory"};
    case HeaderFault::damaged:
      recovered.damages.push_back(name + ": the header is damaged");
      [[fallthrough]];
    case HeaderFault::none:
      recovered.empty[candidate.index] = false;
      recovered.highest_number =
          std::max(recovered.highest_number, candidate.decoded.header.number);
      break;
    case HeaderFault::empty:
      break;
  }
  return {};
}

Result<bool> read_segment(Candidate& candidate, bool look_for_rot, Recovered& recovered,
                          LogReader* shown) {
  recovered.image = StateImage();
  SegmentReader reader(candidate, recovered, shown);
  Result<bool> whole = reader.read();
  if (!whole.ok() || !*whole) return whole;
  auto seal = candidate.window.at(seal_offset, sector_size);
  if (!seal.ok()) return seal.status();
  recovered.sealed = is_sealed(seal->first(std::min(seal->size(), sector_size)), recovered.header);
  if (look_for_rot) {
    Result<bool> rotten = reader.is_rotten();
    if (!rotten.ok()) return rotten;
    recovered.rotten = *rotten;
  }
  recovered.file = candidate.index;
  recovered.bytes = candidate.window.take(reader.offset());
  return true;
}

}  // namespace

Result<Recovered> recover(File& first, File& second, bool look_for_rot, LogReader* reader) {
  Recovered recovered;
  std::array<Candidate, 2> candidates = {Candidate{0, Window(first), {}},
                                         Candidate{1, Window(second), {}}};
  for (Candidate& candidate : candidates) {
    Status status = look_at_header(candidate, recovered);
    if (!status.ok()) return status;
  }
  std::array<Candidate*, 2> newest_first = {&candidates[0], &candidates[1]};
  const auto number = [](const Candidate* of) { return of->decoded.header.number; };
  const bool same_number = number(newest_first[0]) == number(newest_first[1]);
  if (number(newest_first[0]) < number(newest_first[1])) {
    std::swap(newest_first[0], newest_first[1]);
  }
  for (Candidate* candidate : newest_first) {
    if (candidate->decoded.fault != HeaderFault::none) continue;
    Result<bool> whole = read_segment(*candidate, look_for_rot, recovered, reader);
    if (!whole.ok()) return whole.status();
    if (*whole) {
      Status sound = recovered.image.check();
      if (!sound.ok()) return makes_no_sense(segment_names[candidate->index], sound);
      // Two segments never have one number: the newer one could not be determined.
      recovered.sealed = recovered.sealed || same_number;
      return recovered;
    }
    recovered.damages.push_back(std::string(segment_names[candidate->index]) +
                                ": the snapshot is not whole");
  }
  if (reader != nullptr) reader->segment_begins();
  recovered.header = SegmentHeader();
  recovered.image = StateImage();
  recovered.position = 0;
  return recovered;
}

}  // namespace seqd
