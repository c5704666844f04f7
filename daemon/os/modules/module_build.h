// Which build of seqd the program and its modules are of. Pure; any thread.
#pragma once

#include <string_view>

// What a module exports for the comparison.
extern "C" const char seqd_module_build[];

namespace seqd {

// The version, and a fingerprint of the headers that program and modules share: "0.2.0
// 91c4d0a7e55b02f8". Equal versions differ while one is developed.
std::string_view module_build();

}  // namespace seqd
