#include "daemon/os/page_segment.h"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

using protocol::BlockSlot;
using protocol::kBlockPageBytes;
using protocol::kBlockSlotBytes;
using protocol::kBlockSlots;

// Each slot ends with the key of its page. If the key is missing, the memory was emptied, as by
// MADV_REMOVE; without it, the zeros would mean that no ID was taken.
constexpr std::size_t kMark = 56;
static_assert(kMark >= sizeof(BlockSlot) && kMark + sizeof(std::uint64_t) <= kBlockSlotBytes);

// Created by this user: the owner of a segment can be changed, its creator cannot.
bool is_ours(const shmid_ds& facts, std::int32_t key) {
  return facts.shm_perm.cuid == ::geteuid() && facts.shm_perm.__key == key &&
         facts.shm_segsz == kBlockPageBytes;
}

}  // namespace

std::unique_ptr<PageSegment> PageSegment::attach(int id) {
  void* const at = ::shmat(id, nullptr, 0);
  if (reinterpret_cast<std::intptr_t>(at) == -1) return nullptr;
  // Locked, so that no client can have it swapped out; if locking is not permitted, access is only
  // slower.
  static_cast<void>(::mlock(at, kBlockPageBytes));
  return std::unique_ptr<PageSegment>(new PageSegment(id, at));
}

PageSegment::Made PageSegment::make(std::int32_t key, UserId user) {
  ASSERT(key > 0);
  const int id = ::shmget(key, kBlockPageBytes, IPC_CREAT | IPC_EXCL | 0600);
  if (id < 0) return {nullptr, errno};
  // Attached before the owner changes, so that the new owner cannot interfere.
  std::unique_ptr<PageSegment> made = attach(id);
  int error = errno;
  if (made != nullptr) {
    made->mark(key);
    if (made->give_to(user)) return {std::move(made), 0};
    error = errno;
  }
  ::shmctl(id, IPC_RMID, nullptr);
  return {nullptr, error};
}

std::unique_ptr<PageSegment> PageSegment::find(std::int32_t key) {
  const int id = key > 0 ? ::shmget(key, 0, 0) : -1;
  if (id < 0) return nullptr;
  // An attached segment keeps its ID, so the facts belong to the segment that was attached.
  std::unique_ptr<PageSegment> found = attach(id);
  shmid_ds facts{};
  if (found == nullptr || ::shmctl(id, IPC_STAT, &facts) != 0 || !is_ours(facts, key))
    return nullptr;
  found->key_ = key;
  found->user_ = facts.shm_perm.uid;
  return found;
}

void PageSegment::discard(std::int32_t key) {
  const int id = key > 0 ? ::shmget(key, 0, 0) : -1;
  if (id < 0) return;
  shmid_ds facts{};
  // A client can withdraw the permission to read the facts, but not the creator's right to remove.
  const bool seen = ::shmctl(id, IPC_STAT, &facts) == 0;
  if (seen ? is_ours(facts, key) : errno == EACCES) ::shmctl(id, IPC_RMID, nullptr);
}

PageSegment::~PageSegment() {
  ::shmdt(at_);
}

bool PageSegment::give_to(UserId user) {
  if (user == user_) return true;
  shmid_ds facts{};
  facts.shm_perm.uid = user;
  facts.shm_perm.gid = ::getegid();
  facts.shm_perm.mode = 0600;
  if (::shmctl(id_, IPC_SET, &facts) != 0) return false;
  user_ = user;
  return true;
}

void PageSegment::remove() const {
  ::shmctl(id_, IPC_RMID, nullptr);
}

template <typename Number>
Number& PageSegment::number(std::uint32_t slot, std::size_t offset) const {
  ASSERT(slot < kBlockSlots);
  return *reinterpret_cast<Number*>(at_ + slot * kBlockSlotBytes + offset);
}

void PageSegment::mark(std::int32_t key) {
  key_ = key;
  for (std::uint32_t slot = 0; slot < kBlockSlots; ++slot)
    number<std::uint64_t>(slot, kMark) = static_cast<std::uint64_t>(key);
}

// `block` is written last: after a kill before that, the block counts as unpublished.
void PageSegment::publish(const BlockPlace& place) {
  auto& slot = number<BlockSlot>(place.slot, 0);
  const std::atomic_ref<std::uint64_t> taken(slot.taken);
  const std::atomic_ref<std::uint64_t> limit(slot.limit);
  const std::atomic_ref<std::uint64_t> block(slot.block);
  taken.store(0, std::memory_order_relaxed);
  limit.store(static_cast<std::uint64_t>(place.count), std::memory_order_relaxed);
  block.store(place.block, std::memory_order_release);
  published_[place.slot] = place.block;
}

void PageSegment::end(const BlockPlace& place) {
  const std::atomic_ref<std::uint64_t> limit(number<BlockSlot>(place.slot, 0).limit);
  limit.store(0, std::memory_order_release);
}

std::optional<std::int64_t> PageSegment::taken(const BlockPlace& place) const {
  auto& slot = number<BlockSlot>(place.slot, 0);
  const std::atomic_ref<std::uint64_t> mark(number<std::uint64_t>(place.slot, kMark));
  const std::atomic_ref<std::uint64_t> block(slot.block);
  const std::atomic_ref<std::uint64_t> taken(slot.taken);
  const std::uint64_t count = taken.load(std::memory_order_acquire);
  const bool published = block.load(std::memory_order_acquire) == place.block;
  if (mark.load(std::memory_order_acquire) != static_cast<std::uint64_t>(key_)) return std::nullopt;
  // It was never published, unless by this process: then the client overwrote the slot.
  if (!published && published_[place.slot] != place.block) return 0;
  if (!published || count > static_cast<std::uint64_t>(place.count)) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

}  // namespace seqd
