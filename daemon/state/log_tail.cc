#include "daemon/state/log_tail.h"

#include <algorithm>
#include <atomic>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// Offsets in the memory; the machine's own byte order, because it never leaves this boot.
constexpr std::size_t used_at = 0;
constexpr std::size_t salt_at = 8;
constexpr std::size_t offset_at = 16;
constexpr std::size_t room_at = 64;

std::atomic_ref<std::uint64_t> word(std::span<std::uint8_t> memory, std::size_t at) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(memory.data() + at));
}

}  // namespace

LogTail::LogTail(std::span<std::uint8_t> memory) {
  if (memory.size() <= room_at) return;
  ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % sizeof(std::uint64_t) == 0);
  memory_ = memory.first(room_at);
  room_ = memory.subspan(room_at);
}

// As in append(): the bytes first.
void LogTail::move_to(std::span<std::uint8_t> memory) {
  LogTail other(memory);
  ASSERT(other.room_.size() == room_.size());
  if (room_.empty()) return;
  other.begin(word(memory_, salt_at).load(), word(memory_, offset_at).load());
  ASSERT(other.append(bytes()));
  *this = other;
}

std::optional<LogTail::Content> LogTail::read() const {
  if (room_.empty()) return std::nullopt;
  const std::uint64_t used = word(memory_, used_at).load(std::memory_order_acquire);
  if (used == 0 || used > room_.size()) return std::nullopt;
  return Content{word(memory_, salt_at).load(std::memory_order_relaxed),
                 word(memory_, offset_at).load(std::memory_order_relaxed), room_.first(used)};
}

// In this order (see Witness::write): a kill in between leaves an empty tail.
void LogTail::begin(std::uint64_t salt, std::uint64_t offset) {
  used_ = 0;
  if (room_.empty()) return;
  word(memory_, used_at).store(0);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  word(memory_, salt_at).store(salt);
  word(memory_, offset_at).store(offset);
}

// The bytes first, then that they count.
bool LogTail::append(std::span<const std::uint8_t> bytes) {
  ASSERT(used_ <= room_.size());
  if (bytes.size() > room_.size() - used_) return false;
  std::copy(bytes.begin(), bytes.end(), room_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ += bytes.size();
  word(memory_, used_at).store(used_, std::memory_order_release);
  return true;
}

}  // namespace seqd
