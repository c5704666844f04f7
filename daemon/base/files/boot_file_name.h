// The names of the files that belong to a state directory until the next reboot, and are kept in
// memory: its witness and its pages of blocks. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/files/files.h"

namespace seqd {

// "seqd-DEVICE-INODE.`kind`", in hexadecimal: another directory has another name.
std::string boot_file_name(const FileIdentity& directory, std::string_view kind);

}  // namespace seqd
