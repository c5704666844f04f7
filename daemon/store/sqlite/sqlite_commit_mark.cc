#include "daemon/store/sqlite/sqlite_commit_mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace seqd {
namespace {

constexpr int kCheckBits = 24;
constexpr std::uint64_t kHighest = (std::uint64_t{1} << (64 - kCheckBits)) - 1;
constexpr std::chrono::milliseconds kPause{1};

// Never 0 as a whole: new memory is zero, and means no mark.
std::uint64_t word_of(std::uint64_t commits) {
  std::uint64_t mixed = (commits ^ 0x7365'7164'6d61'726bU) * 0x9e37'79b9'7f4a'7c15U;
  mixed ^= mixed >> 29;
  const std::uint64_t check = mixed % ((std::uint64_t{1} << kCheckBits) - 1) + 1;
  return (commits << kCheckBits) | check;
}

std::atomic_ref<std::uint64_t> word(SharedMemory& memory) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(memory.bytes().data()));
}

// 0: none, or nothing that a seqd wrote.
std::int64_t read(SharedMemory& memory) {
  const std::uint64_t found = word(memory).load();
  const std::uint64_t commits = found >> kCheckBits;
  return found == word_of(commits) ? static_cast<std::int64_t>(commits) : 0;
}

}  // namespace

std::string SqliteCommitMark::name(const Token& identity) {
  return "seqd-" + to_hex(identity) + ".commits";
}

Status SqliteCommitMark::begin(std::int64_t commits) {
  release();
  older_ = false;
  commits_ = commits;
  if (directory_ == nullptr) return {};
  if (Status locked = lock(); !locked.ok()) return locked;
  if (memory_) known_ = std::max(known_, read(*memory_));
  older_ = commits < known_;
  // The outcome of a commit was unknown, a kill came after it, or another process made it.
  if (!older_) raise(commits);
  return {};
}

// Where it cannot be mapped, only what this process has seen is compared.
Status SqliteCommitMark::lock() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms_);
  while (true) {
    Result<std::unique_ptr<SharedMemory>> mapped = directory_->map(name_, size);
    if (mapped.ok()) memory_ = std::move(*mapped);
    if (mapped.ok() || mapped.status().code() != ErrorCode::FENCED) return {};
    if (std::chrono::steady_clock::now() >= deadline) {
      return {ErrorCode::UNAVAILABLE,
              fmt::format("{}/{}: another process has been changing this database, or a copy of "
                          "it, for more than {} ms",
                          directory_->path(), name_, patience_ms_)};
    }
    std::this_thread::sleep_for(kPause);
  }
}

Status SqliteCommitMark::older_copy(const std::string& where) const {
  return {ErrorCode::SEQ_REGRESSED,
          // Short: the text of a reply is cut off, and the remedy comes after it.
          fmt::format("{} was restored from an older copy, or a copy of it is in use ({}): end "
                      "that copy; if the log was restored, too, first raise each sequence above "
                      "all IDs in your records (`seqctl advance NAME --to ID --everywhere --yes`)",
                      where,
                      commits_ < 0 ? "as was found before"
                                   : fmt::format("{} of {} changes", commits_, known_))};
}

std::int64_t SqliteCommitMark::next() const {
  return std::min(std::max(commits_, known_), INT64_MAX - 1) + 1;
}

void SqliteCommitMark::raise(std::int64_t commits) {
  if (directory_ == nullptr || commits <= 0) return;
  known_ = std::max(known_, commits);
  const auto value = static_cast<std::uint64_t>(known_);
  if (memory_ && value <= kHighest) word(*memory_).store(word_of(value));
}

}  // namespace seqd
