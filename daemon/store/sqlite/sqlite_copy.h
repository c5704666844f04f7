// A copy of an SQLite file, as it is made before its schema is changed. Blocking; any thread, while
// the caller keeps others from writing to the file (a transaction of its own that has begun).
#pragma once

#include <string>

#include "daemon/base/status.h"

namespace seqd {

// Makes `copy`, a file of its own without a write-ahead log, and only when it was read again whole
// and found good: a name that is there leads to a whole copy. What had the name before is replaced.
// UNAVAILABLE: no room, or a disk that fails; STORE_REFUSED: any other reason. Nothing is left
// behind then.
Status copy_sqlite_file(const std::string& file, const std::string& copy);

}  // namespace seqd
