// The shared memory of SQLite's write-ahead log on a disk that is full. SQLite makes that file of
// holes and maps it; a hole that gets no room when it is written ends the process with SIGBUS, with
// no error on the way. Functions; any thread.
#pragma once

#include <sqlite3.h>

namespace seqd {

// From here on each part of the shared memory that this connection maps gets its room at once, and
// an error, SQLITE_FULL, says that there is none. To be called after sqlite3_open_v2 and before the
// first statement. A kernel before Linux 5.14 cannot do it: nothing changes there.
void give_room_to_shared_memory(sqlite3* connection);

}  // namespace seqd
