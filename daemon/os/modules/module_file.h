// The file of a module, looked at and not loaded: whether it is a whole shared object, and of which
// build of seqd. It is hostile input. Functions; any thread.
#pragma once

#include <string>

#include "daemon/base/status.h"

namespace seqd {

// What its note says (module_build.h). CONFIG when the file at `descriptor` is something else; the
// text continues that of a path: "is no shared object". Reads a few KiB.
Result<std::string> build_of_module(int descriptor);

}  // namespace seqd
