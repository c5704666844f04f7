#include "daemon/base/files/boot_file_name.h"

#include <cinttypes>
#include <cstdio>

#include "daemon/base/assertion.h"

namespace seqd {

std::string boot_file_name(const FileIdentity& directory, std::string_view kind) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "seqd-%" PRIx64 "-%" PRIx64 ".",
                                   directory.device, directory.inode);
  ASSERT(length > 0 && static_cast<std::size_t>(length) < sizeof text);
  return std::string(text, static_cast<std::size_t>(length)).append(kind);
}

}  // namespace seqd
