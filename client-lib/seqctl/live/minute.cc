#include "client-lib/seqctl/live/minute.h"

#include <algorithm>

namespace seqd::seqctl {

void Minute::add(double rate, std::int64_t from_ms, std::int64_t to_ms) {
  if (from_ms < 0 || to_ms < from_ms) return;
  const std::int64_t last = to_ms / kCellMs;
  if (last < newest_) return;
  // What lies between is not known.
  for (std::int64_t cell = std::max(newest_ + 1, last - kCells + 1); cell <= last; ++cell)
    at(cell) = kUnknown;
  newest_ = last;
  for (std::int64_t cell = std::max(from_ms / kCellMs, last - kCells + 1); cell <= last; ++cell)
    at(cell) = static_cast<float>(std::max(rate, 0.0));
}

float Minute::known_at(std::int64_t cell) const {
  if (cell < 0 || cell > newest_ || cell <= newest_ - kCells) return kUnknown;
  return rates_[static_cast<std::size_t>(cell % kCells)];
}

std::string Minute::text(std::int64_t now_ms, bool utf8) const {
  constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 8> kAscii = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const std::int64_t last = now_ms / kCellMs;
  float highest = 0;
  for (std::int64_t cell = last - kCells + 1; cell <= last; ++cell)
    highest = std::max(highest, known_at(cell));
  std::string text;
  for (std::int64_t cell = last - kCells + 1; cell <= last; ++cell) {
    const float rate = known_at(cell);
    if (rate < 0) {
      text += " ";
      continue;
    }
    // The lowest character is for nothing at all.
    const auto level =
        rate == 0 ? std::size_t{0}
                  : std::min<std::size_t>(7, 1 + static_cast<std::size_t>(rate / highest * 7));
    text += utf8 ? kBlocks.at(level) : kAscii.at(level);
  }
  return text;
}

}  // namespace seqd::seqctl
