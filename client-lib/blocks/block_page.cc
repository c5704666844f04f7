#include "client-lib/blocks/block_page.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "protocol/version.h"

namespace seqd::engine {
namespace {

using protocol::BlockSlot;
using protocol::kBlockSlotBytes;

Outcome no_page(const std::string& why) {
  return {SEQD_E_UNAVAILABLE, "the daemon's page for blocks cannot be used: " + why};
}

Outcome no_memory(const char* call) {
  const int error = errno;
  const bool elsewhere = error == ENOENT || error == EACCES || error == EINVAL;
  return no_page(std::string(call) + ": " + ::strerrordesc_np(error) +
                 (elsewhere
                      ? "; does this process have the IPC namespace and the user of the connection?"
                      : "; does a filter forbid shared memory of System V?"));
}

// Whether it is the page that the daemon named. The creator of memory cannot be changed, but memory
// of that creator may be the page of another program, or of another daemon: the page is accepted
// only if the peer at the socket is that creator, or root (a service manager that created the
// socket).
bool is_as_reported(const shmid_ds& facts, const PageInfo& info, std::size_t size) {
  const ipc_perm& rights = facts.shm_perm;
  if (facts.shm_segsz != size || rights.uid != ::geteuid() ||
      std::int64_t{rights.cuid} != info.maker)
    return false;
  return info.peer && (*info.peer == rights.cuid || *info.peer == 0);
}

}  // namespace

Outcome BlockPage::attach(const PageInfo& info, std::shared_ptr<BlockPage>& page) {
  if (info.slots < 1 || info.slots > kMostSlots || info.slot_bytes != std::int64_t{kBlockSlotBytes})
    return no_page("its slots are of a version that libseqd " SEQD_VERSION " does not know");
  if (info.key < 1 || info.key > std::numeric_limits<std::int32_t>::max())
    return no_page("its key is invalid");
  // A key is given once as long as its memory is attached.
  if (page != nullptr && page->key_ == info.key && page->slots_ == info.slots) return {};
  const int id = ::shmget(static_cast<key_t>(info.key), 0, 0);
  if (id < 0) return no_memory("shmget");
  void* const at = ::shmat(id, nullptr, 0);
  if (reinterpret_cast<std::intptr_t>(at) == -1) return no_memory("shmat");
  // An attached segment keeps its ID, so the facts belong to the segment that was attached.
  shmid_ds facts = {};
  const auto size = static_cast<std::size_t>(info.slots) * kBlockSlotBytes;
  if (::shmctl(id, IPC_STAT, &facts) != 0 || !is_as_reported(facts, info, size)) {
    ::shmdt(at);
    return no_page(
        "its key refers to memory of another size, user or creator than those of the "
        "connection; are this process and the daemon in one user namespace?");
  }
  try {
    page.reset(new BlockPage(at, static_cast<std::uint32_t>(info.slots), info.key));
  } catch (...) {
    ::shmdt(at);
    throw;
  }
  return {};
}

BlockPage::~BlockPage() {
  ::shmdt(at_);
}

BlockSlot& BlockPage::slot(std::uint32_t number) const {
  return *reinterpret_cast<BlockSlot*>(at_ + number * kBlockSlotBytes);
}

}  // namespace seqd::engine
