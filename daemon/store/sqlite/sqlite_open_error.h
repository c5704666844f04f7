// Why a file could not be opened or created for SQLite. Where it cannot create one it tries to open
// it for reading, so that the error that it keeps says there is no such file, whatever the reason
// was. Functions; any thread.
#pragma once

namespace seqd {

// From here on the reasons are kept. Once a process, before a file is opened; more often does no
// harm.
void keep_sqlite_open_errors();

// The errno of the last call of SQLite in this thread that opened no file, once; else 0.
int take_sqlite_open_error();

}  // namespace seqd
