// Minute: a rate over the last minute, drawn as a line of characters (a sparkline). Pure: time
// comes in as an argument. 100 bytes, however often it is added to. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace seqd::seqctl {

class Minute {
 public:
  static constexpr std::int64_t kCells = 20;
  static constexpr std::int64_t kCellMs = 3'000;

  Minute() { rates_.fill(kUnknown); }

  // The rate was `rate` (at least 0) from one time to a later one: milliseconds of a clock that
  // does not go back.
  void add(double rate, std::int64_t from_ms, std::int64_t to_ms);
  // Whether nothing of it is within the minute before `now_ms`.
  bool is_over(std::int64_t now_ms) const { return now_ms / kCellMs - newest_ >= kCells; }
  // kCells characters, the newest on the right; the highest is as high as a character. Blank where
  // nothing is known.
  std::string text(std::int64_t now_ms, bool utf8) const;

 private:
  static constexpr float kUnknown = -1;

  float& at(std::int64_t cell) { return rates_[static_cast<std::size_t>(cell % kCells)]; }
  float known_at(std::int64_t cell) const;

  std::array<float, kCells> rates_{};
  std::int64_t newest_ = -1;  // cell; those of the minute before it are in rates_
};

}  // namespace seqd::seqctl
