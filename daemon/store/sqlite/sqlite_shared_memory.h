// The shared memory of SQLite's write-ahead log on a disk that is full. SQLite makes that file of
// holes and maps it; a hole that gets no room when it is written ends the process with SIGBUS, with
// no error on the way. Functions; any thread.
#pragma once

namespace seqd {

// From here on each part of such a file gets its room before it is mapped, and SQLite's call fails
// with SQLITE_IOERR_SHMMAP where there is none. Once a process, before a file is opened; more often
// does no harm. Where room cannot be reserved, by the file system or because a filter of system
// calls forbids it, SQLite's call does what it did before.
void give_room_to_sqlite_memory();

}  // namespace seqd
