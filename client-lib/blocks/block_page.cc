#include "client-lib/blocks/block_page.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "protocol/version.h"

namespace seqd::engine {
namespace {

using protocol::BlockSlot;
using protocol::kBlockSlotBytes;

// Closes it when the work is done.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

Outcome no_page(const std::string& why) {
  return {SEQD_E_UNAVAILABLE, "the daemon's page for blocks cannot be used: " + why};
}

}  // namespace

Outcome BlockPage::map(int descriptor, std::int64_t slots, std::int64_t slot_bytes,
                       std::shared_ptr<BlockPage>& page) {
  const Descriptor given{descriptor};
  if (slots < 1 || slots > kMostSlots || slot_bytes != std::int64_t{kBlockSlotBytes})
    return no_page("its slots are of a version that libseqd " SEQD_VERSION " does not know");
  if (descriptor < 0)
    return no_page(
        "its descriptor did not arrive (is one free here, and the daemon on this host?)");
  const std::size_t size = static_cast<std::size_t>(slots) * kBlockSlotBytes;
  struct stat found = {};
  if (::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_size < static_cast<off_t>(size))
    return no_page("it is not a file of " + std::to_string(size) + " bytes");
  if (page != nullptr && page->device_ == found.st_dev && page->inode_ == found.st_ino &&
      page->slots_ == slots)
    return {};
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return no_page(std::string("mmap: ") + ::strerrordesc_np(errno));
  try {
    page.reset(new BlockPage(at, static_cast<std::uint32_t>(slots), found.st_dev, found.st_ino));
  } catch (...) {
    ::munmap(at, size);
    throw;
  }
  return {};
}

BlockPage::~BlockPage() {
  ::munmap(at_, slots_ * kBlockSlotBytes);
}

BlockSlot& BlockPage::slot(std::uint32_t number) const {
  return *reinterpret_cast<BlockSlot*>(at_ + number * kBlockSlotBytes);
}

}  // namespace seqd::engine
