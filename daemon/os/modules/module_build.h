// Which build of seqd the program and its modules are of. Pure; any thread.
#pragma once

#include <string_view>

namespace seqd {

// The name of the owner in the ELF note of a module.
inline constexpr char kModuleOwner[] = "seqd";

// The version, and a fingerprint of the headers that program and modules share: "0.2.0
// 91c4d0a7e55b02f8". Every file that holds this source has the same text in an ELF note, so that a
// file can be compared without loading it.
std::string_view module_build();

}  // namespace seqd
