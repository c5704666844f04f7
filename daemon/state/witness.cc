#include "daemon/state/witness.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/base/files/boot_file_name.h"

namespace seqd {
namespace {

// Offsets in the mapped memory; the machine's own byte order, because it never leaves this boot.
constexpr std::size_t mark_at = 0;  // `whole` when the rest is
constexpr std::size_t position_at = 8;
constexpr std::size_t boot_id_at = 16;
constexpr std::size_t nonce_at = 32;
constexpr std::size_t device_at = 48;
constexpr std::size_t inode_at = 56;
constexpr std::size_t flush_at = 64;  // on a cache line of its own: the worker writes it
constexpr std::uint64_t whole = 0x3130304e54495753;
constexpr std::uint64_t flushes_good = 1;

std::atomic_ref<std::uint64_t> word(SharedMemory& memory, std::size_t at) {
  return std::atomic_ref<std::uint64_t>(
      *reinterpret_cast<std::uint64_t*>(memory.bytes().data() + at));
}

}  // namespace

std::string Witness::name(const FileIdentity& directory) {
  return boot_file_name(directory, "witness");
}

Witness::Witness(std::unique_ptr<SharedMemory> memory, Directory* directory, std::string name)
    : memory_(std::move(memory)),
      directory_(directory),
      name_(std::move(name)),
      tail_(memory_->bytes().subspan(size)) {
  ASSERT(memory_->bytes().size() >= size);
  if (directory_ != nullptr) {
    const Result<FileIdentity> found = directory_->identity(name_);
    if (found.ok()) identity_ = *found;
  }
  ASSERT(reinterpret_cast<std::uintptr_t>(memory_->bytes().data()) % 64 == 0);
}

Result<Witness::Kept> Witness::keep_in_place() {
  if (directory_ == nullptr) return Kept::in_place;
  Result<FileIdentity> found = directory_->identity(name_);
  if (found.ok() && *found == identity_) return Kept::in_place;
  const std::optional<Testimony> testimony = read();
  // Other processes of this user can write there.
  if (!testimony)
    return Status(ErrorCode::STATE_IO, "the memory of the witness was changed from outside");
  Result<std::unique_ptr<SharedMemory>> memory = directory_->map(name_, memory_->bytes().size());
  if (!memory.ok()) return memory.status();
  // In a directory that was moved it would not be found.
  found = directory_->identity(name_);
  if (!found.ok()) return found.status();
  tail_.move_to((*memory)->bytes().subspan(size));
  memory_ = std::move(*memory);
  identity_ = *found;
  write(*testimony);
  return Kept::made_again;
}

std::optional<Witness::Testimony> Witness::read() const {
  if (word(*memory_, mark_at).load(std::memory_order_acquire) != whole) return std::nullopt;
  Testimony testimony;
  const std::span<std::uint8_t> bytes = memory_->bytes();
  std::copy_n(bytes.begin() + boot_id_at, testimony.boot_id.size(), testimony.boot_id.begin());
  std::copy_n(bytes.begin() + nonce_at, testimony.nonce.size(), testimony.nonce.begin());
  testimony.directory.device = word(*memory_, device_at).load(std::memory_order_relaxed);
  testimony.directory.inode = word(*memory_, inode_at).load(std::memory_order_relaxed);
  testimony.position = word(*memory_, position_at).load(std::memory_order_relaxed);
  testimony.flushes_good = word(*memory_, flush_at).load(std::memory_order_relaxed) == flushes_good;
  return testimony;
}

void Witness::write(const Testimony& testimony) {
  const std::span<std::uint8_t> bytes = memory_->bytes();
  // No write to memory is moved over the mark in either direction. The fences are for the compiler:
  // the reader is a process that begins after this one has ended in any way.
  word(*memory_, mark_at).store(0);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::copy_n(testimony.boot_id.begin(), testimony.boot_id.size(), bytes.begin() + boot_id_at);
  std::copy_n(testimony.nonce.begin(), testimony.nonce.size(), bytes.begin() + nonce_at);
  word(*memory_, device_at).store(testimony.directory.device);
  word(*memory_, inode_at).store(testimony.directory.inode);
  word(*memory_, position_at).store(testimony.position);
  word(*memory_, flush_at).store(testimony.flushes_good ? flushes_good : 0);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  word(*memory_, mark_at).store(whole);
}

void Witness::advance(LogPosition position) {
  word(*memory_, position_at).store(position, std::memory_order_release);
}

void Witness::flush_begins() {
  word(*memory_, flush_at).store(0);
}

void Witness::flush_succeeded() {
  word(*memory_, flush_at).store(flushes_good);
}

}  // namespace seqd
