// PosixFiles: daemon/base/files/files.h on a real file system (open, flock, pwrite, fdatasync,
// mmap, statfs). Descriptors are close-on-exec; interrupted and short calls are finished.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/base/files/files.h"

namespace seqd {

// Opens the directory; makes its last component (mode 0700) when it is missing. Refuses one that
// belongs neither to the daemon's user nor to root, or is world-writable.
Result<std::unique_ptr<Directory>> open_directory(const std::string& path);

// What kind of file system a path is on.
Result<FileSystemKind> file_system_of(const std::string& path);
// The same of a file that may not be there yet: where its links lead to, it will be made.
Result<FileSystemKind> file_system_for(const std::string& file);

// The random name of this boot (/proc/sys/kernel/random/boot_id).
Result<std::array<std::uint8_t, 16>> read_boot_id();

}  // namespace seqd
