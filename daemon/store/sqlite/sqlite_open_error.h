// How files are opened and created for SQLite. A database that is made is this user's alone: the
// umask is the process's, and changes while the socket is made. Why one could not be opened is
// kept: where SQLite cannot create a file it tries to open it for reading, so that its own error
// always says that there is no such file. Functions; any thread.
#pragma once

namespace seqd {

// From here on. Once a process, before a file is opened; more often does no harm.
void take_over_sqlite_opens();

// The errno of the last call of SQLite in this thread that opened no file, once; else 0.
int take_sqlite_open_error();

}  // namespace seqd
