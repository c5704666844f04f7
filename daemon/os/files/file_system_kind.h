// The kinds of file systems by the number that statfs() reports. Pure; any thread.
#pragma once

#include <cstdint>

#include "daemon/base/files/files.h"

namespace seqd {

FileSystemKind kind_of_file_system(std::uint32_t type);

}  // namespace seqd
