// How seqd ends, as far as its exit code tells; documented in seqd(8). kExitUsage and kExitConfig
// are the command line's.
#pragma once

#include "daemon/main/command_line.h"

namespace seqd {

inline constexpr int kExitCorrupt = 65;   // EX_DATAERR: somebody has to look at the state directory
inline constexpr int kExitStore = 69;     // EX_UNAVAILABLE: a store cannot be opened
inline constexpr int kExitInternal = 70;  // EX_SOFTWARE: another error at the start
inline constexpr int kExitState = 74;     // EX_IOERR: the state directory failed; start again
inline constexpr int kExitLocked = 75;    // EX_TEMPFAIL: another daemon has the state directory
inline constexpr int kExitDecommissioned = 80;  // out of service for good: not to be started again

}  // namespace seqd
