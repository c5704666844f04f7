// The names of the files that belong to a state directory for as long as the machine runs, and lie
// where memory is: its witness, its pages of blocks. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/files/files.h"

namespace seqd {

// "seqd-DEVICE-INODE.`kind`", in hexadecimal: another directory has another name.
std::string boot_file_name(const FileIdentity& directory, std::string_view kind);

}  // namespace seqd
