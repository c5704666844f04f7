#include "daemon/os/shared_pages.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/base/files/boot_file_name.h"
#include "protocol/block_slot.h"

namespace seqd {
namespace {

constexpr int kMostKeys = 8;  // that are tried for one page

long membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0);
}

bool has_barrier() {
  const long known = membarrier(MEMBARRIER_CMD_QUERY);
  return known >= 0 && (known & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
}

// Why there is no segment, and what to do.
Status no_segment(int error) {
  const std::string why = std::generic_category().message(error);
  switch (error) {
    case EEXIST:
      return {ErrorCode::BUSY, "no page for blocks: keys for shared memory are in use; try again"};
    case ENOSPC:
    case ENOMEM:
    case EMFILE:
      return {ErrorCode::BUSY,
              "no page for blocks: the host has no shared memory of System V left (" + why +
                  "; kernel.shmmni and kernel.shmall, see ipcs -lm); take IDs "
                  "with next"};
    case EINVAL:
      return {ErrorCode::UNAVAILABLE,
              "no page for blocks: the host allows no shared memory of System V of this size, or "
              "for this user (kernel.shmmax, kernel.shmall); take IDs with next"};
    default:
      return {ErrorCode::UNAVAILABLE,
              "no page for blocks: shared memory of System V: " + why +
                  "; allow shmget, shmat, shmctl and shmdt (@ipc) in the daemon's sandbox"};
  }
}

}  // namespace

std::string SharedPages::index_name(const FileIdentity& state) {
  return boot_file_name(state, "pages");
}

std::unique_ptr<SharedPages> SharedPages::of(const Directory& state, Directory& place,
                                             Random& random, EventSink& events) {
  const Result<FileIdentity> identity = state.identity("");
  Status status = identity.status();
  if (status.ok()) {
    Result<std::unique_ptr<SharedMemory>> index = place.map(index_name(*identity), kIndexBytes);
    if (index.ok()) {
      return std::make_unique<SharedPages>(std::move(*index), random, place, index_name(*identity));
    }
    status = index.status();
  }
  events.raise({EventKind::state_warning,
                "there are no blocks, because no page can be kept in " + place.path() +
                    ", the place of the witness: " + status.to_string() +
                    "; correct this, or set witness_dir, and restart",
                {}});
  return nullptr;
}

SharedPages::SharedPages(std::unique_ptr<SharedMemory> index, Random& random, Directory& place,
                         std::string name)
    : index_(std::move(index)),
      random_(random),
      place_(place),
      name_(std::move(name)),
      has_barrier_(has_barrier()) {
  ASSERT(index_->bytes().size() >= kIndexBytes);
  // If it is already missing, keep_index() creates it again.
  if (const Result<FileIdentity> found = place_.identity(name_); found.ok()) identity_ = *found;
}

Result<bool> SharedPages::keep_index() {
  Result<FileIdentity> found = place_.identity(name_);
  if (found.ok() && *found == identity_) return false;
  Result<std::unique_ptr<SharedMemory>> index = place_.map(name_, kIndexBytes);
  if (!index.ok()) return index.status();
  // If the directory was moved, the new index would not be found.
  found = place_.identity(name_);
  if (!found.ok()) return found.status();
  const std::unique_ptr<SharedMemory> former = std::exchange(index_, std::move(*index));
  identity_ = *found;
  // Other processes of this user can write to the file, so it may hold keys that seqd did not
  // write.
  std::fill(entries().begin(), entries().end(), Entry{});
  std::size_t at = 0;
  for (auto& [client, page] : pages_) {
    const Entry* const had = std::exchange(page.entry, nullptr);
    if (page.segment == nullptr) continue;
    Entry& entry = entries()[at++];
    entry = *had;
    page.entry = &entry;
  }
  return true;
}

std::span<SharedPages::Entry> SharedPages::entries() const {
  return {reinterpret_cast<Entry*>(index_->bytes().data()), static_cast<std::size_t>(kMost)};
}

Status SharedPages::open(ClientId client, UserId user) {
  if (const auto found = pages_.find(client); found != pages_.end()) {
    if (found->second.segment == nullptr) {
      return {ErrorCode::UNAVAILABLE,
              "the page of this client's blocks was removed while the daemon was down; connect "
              "again for another one"};
    }
    return found->second.segment->give_to(user) ? Status() : no_segment(errno);
  }
  if (!has_barrier_) {
    return {ErrorCode::UNAVAILABLE,
            "no page for blocks: the system has no membarrier (Linux 4.16, or a filter forbids "
            "it)"};
  }
  // Its page would belong to all users that are not mapped here.
  if (user == kNoUserOrGroup) {
    return {ErrorCode::UNAVAILABLE,
            "no page for blocks: the daemon's user namespace does not know the client's user"};
  }
  return make(client, user);
}

Status SharedPages::make(ClientId client, UserId user) {
  const auto all = entries();
  std::size_t at = 0;
  while (at < all.size() && all[at].key != 0) ++at;
  if (at == all.size()) {
    return {ErrorCode::BUSY,
            std::to_string(kMost) +
                " clients have a page for blocks, which is the limit; take IDs with next"};
  }
  Entry& entry = all[at];
  const std::atomic_ref<std::int32_t> key(entry.key);
  PageSegment::Made made{nullptr, EEXIST};
  for (int tries = 0; tries < kMostKeys && made.error == EEXIST; ++tries) {
    const auto drawn = static_cast<std::int32_t>(random_.next() >> 33);
    if (drawn == 0) continue;
    entry.client = client;
    key.store(drawn, std::memory_order_release);
    made = PageSegment::make(drawn, user);
  }
  if (made.segment == nullptr) {
    key.store(0, std::memory_order_release);
    return no_segment(made.error);
  }
  pages_[client] = {&entry, std::move(made.segment)};
  return {};
}

PageAddress SharedPages::address(ClientId client) const {
  const Page& page = pages_.at(client);
  ASSERT(page.segment != nullptr);
  return {page.entry->key, static_cast<UserId>(::geteuid())};
}

Status SharedPages::publish(const BlockPlace& place) {
  const auto found = pages_.find(place.client);
  if (found == pages_.end() || found->second.segment == nullptr ||
      place.slot >= protocol::kBlockSlots)
    return {ErrorCode::UNAVAILABLE, "the page of this client's blocks is missing"};
  found->second.segment->publish(place);
  return {};
}

// Null: the page is missing, so the block may still be in use.
PageSegment* SharedPages::end(const BlockPlace& place) {
  const auto found = pages_.find(place.client);
  if (found == pages_.end() || found->second.segment == nullptr ||
      place.slot >= protocol::kBlockSlots)
    return nullptr;
  found->second.segment->end(place);
  return found->second.segment.get();
}

std::vector<std::optional<std::int64_t>> SharedPages::revoke(std::span<const BlockPlace> places) {
  std::vector<std::optional<std::int64_t>> taken(places.size());
  std::vector<PageSegment*> ended(places.size());
  bool may_grow = false;
  for (std::size_t at = 0; at < places.size(); ++at) {
    ended[at] = end(places[at]);
    const auto now = ended[at] != nullptr ? ended[at]->taken(places[at]) : std::nullopt;
    // Of a block that is taken to its end there is nothing to stop. Most blocks end like this, and
    // a barrier interrupts every CPU.
    if (now == places[at].count) {
      taken[at] = now;
      ended[at] = nullptr;
    }
    may_grow = may_grow || ended[at] != nullptr;
  }
  // From here on a client that takes an ID sees the limit, or its store of `taken` is seen below.
  if (!may_grow || !has_barrier_ || membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0) return taken;
  for (std::size_t at = 0; at < places.size(); ++at)
    if (ended[at] != nullptr) taken[at] = ended[at]->taken(places[at]);
  return taken;
}

void SharedPages::remove(ClientId client) {
  const auto found = pages_.find(client);
  if (found == pages_.end()) return;
  if (const Page& page = found->second; page.segment != nullptr) {
    page.segment->remove();
    std::atomic_ref<std::int32_t>(page.entry->key).store(0, std::memory_order_release);
  }
  pages_.erase(found);
}

bool SharedPages::is_lost(ClientId client) const {
  const auto found = pages_.find(client);
  return found != pages_.end() && found->second.segment == nullptr;
}

void SharedPages::keep_only(const std::set<ClientId>& clients) {
  ASSERT(pages_.empty());
  for (const ClientId client : clients) pages_[client];
  for (Entry& entry : entries()) {
    if (entry.key == 0) continue;
    const auto wanted = pages_.find(entry.client);
    if (wanted != pages_.end() && wanted->second.segment == nullptr) {
      wanted->second = {&entry, PageSegment::find(entry.key)};
      if (wanted->second.segment != nullptr) continue;
    }
    PageSegment::discard(entry.key);
    std::atomic_ref<std::int32_t>(entry.key).store(0, std::memory_order_release);
  }
}

}  // namespace seqd
