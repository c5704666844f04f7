// What SQLite does while another process holds a lock that it needs: how long it waits at most, and
// which process that is. Functions; any thread.
#pragma once

#include <string>

namespace seqd {

// SQLite tries a hundred times for a lock of its write-ahead log, with any busy time-out, and
// pauses longer each time, for ten seconds in all. From here on it gives up after two. Once a
// process, before a file is opened; more often does no harm.
void bound_sqlite_waits();

// "process 4711 (sqlite3)": the other processes that hold locks on the file or its write-ahead log,
// writers first; "" if the kernel does not report them (another PID namespace). Opens neither file:
// closing it again would release our own locks.
std::string sqlite_lock_holders(const std::string& path);

}  // namespace seqd
