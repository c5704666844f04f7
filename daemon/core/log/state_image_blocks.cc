// The part of state_image.h that is about blocks.
#include "daemon/base/assertion.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/log/state_image_checks.h"

namespace seqd {

void snapshot_block(const BlockImage& block, const std::function<void(const LogEntry&)>& entry) {
  const BlockGranted& granted = block.granted;
  ASSERT(is_range(granted.begin, granted.end));
  entry(AvailableRange{granted.sequence, block.lease, granted.begin, granted.end, granted.end});
  entry(granted);
}

std::vector<AvailableRange> held_by(const SequenceImage& sequence) {
  std::vector<AvailableRange> held;
  for (const auto& [key, block] : sequence.blocks) {
    const BlockGranted& granted = block.granted;
    held.push_back({granted.sequence, block.lease, granted.begin, granted.end, granted.end});
  }
  held.insert(held.end(), sequence.ranges.begin(), sequence.ranges.end());
  return held;
}

std::int64_t StateImage::out(const SequenceImage& sequence) {
  std::int64_t sum = 0;
  for (const auto& [key, block] : sequence.blocks) sum += block.granted.end - block.granted.begin;
  return sum;
}

Status StateImage::apply_one(const BlockGranted& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  Fifo<AvailableRange>& ranges = (*sequence)->ranges;
  if (!is_range(entry.begin, entry.end) || ranges.empty() || entry.begin != ranges.front().begin ||
      entry.end > ranges.front().reserved_end) {
    return corrupt("a block of IDs that were not next", entry.sequence);
  }
  const auto [place, fresh] = (*sequence)->blocks.try_emplace(
      {entry.client, entry.slot}, BlockImage{entry, ranges.front().lease});
  if (!fresh || entry.client == 0) return corrupt("a block in a slot that has one", entry.sequence);
  ranges.front().begin = entry.end;
  if (ranges.front().begin == ranges.front().end) ranges.pop_front();
  return {};
}

Status StateImage::apply_one(const BlockEnded& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  SequenceImage& image = **sequence;
  const auto found = image.blocks.find({entry.client, entry.slot});
  if (found == image.blocks.end())
    return corrupt("the end of a block that is not out", entry.client);
  const BlockImage block = found->second;
  const std::int64_t end = block.granted.end;
  if (entry.begin != block.granted.begin || entry.taken_end < entry.begin || entry.taken_end > end)
    return corrupt("the end of a block with impossible bounds", entry.sequence);
  image.blocks.erase(found);
  if (entry.taken_end > entry.begin) use(image, entry.taken_end);
  if (entry.taken_end < end) {
    Fifo<AvailableRange>& ranges = image.ranges;
    if (!ranges.empty() && ranges.front().begin == end && ranges.front().lease == block.lease) {
      ranges.front().begin = entry.taken_end;
    } else {
      ranges.push_front({entry.sequence, block.lease, entry.taken_end, end, end});
    }
  }
  return count(image.totals.issued, entry.taken_end - entry.begin) ? Status()
                                                                   : too_many(entry.sequence);
}

}  // namespace seqd
