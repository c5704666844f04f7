// The exit codes of seqd. seqd(8) explains them, and `seqd --help` has this table
// (tests/lint/documentation.py compares the two).
#pragma once

#include <array>
#include <string_view>

namespace seqd {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitCorrupt = 65;   // EX_DATAERR: an operator must check the state directory
inline constexpr int kExitStore = 69;     // EX_UNAVAILABLE: a store cannot be opened
inline constexpr int kExitInternal = 70;  // EX_SOFTWARE: another error at the start
inline constexpr int kExitState = 74;     // EX_IOERR: the state directory failed; start again
inline constexpr int kExitLocked = 75;    // EX_TEMPFAIL: another daemon has the state directory
inline constexpr int kExitConfig = 78;    // EX_CONFIG
inline constexpr int kExitDecommissioned = 80;  // out of service for good: not to be started again

struct ExitCode {
  int code;
  std::string_view meaning;
};

inline constexpr std::array kExitCodes = {
    ExitCode{0, "an orderly stop, or --check found no problem"},
    ExitCode{kExitUsage, "invalid usage"},
    ExitCode{kExitCorrupt, "a file of the state directory is damaged or of another version"},
    ExitCode{kExitStore, "a store could not be opened"},
    ExitCode{kExitInternal, "another error at the start"},
    ExitCode{kExitState, "the state directory cannot be read or written"},
    ExitCode{kExitLocked, "another daemon uses the state directory"},
    ExitCode{kExitConfig, "invalid configuration, missing module, or missing state"},
    ExitCode{kExitDecommissioned, "decommissioned: not to be started again"},
};

}  // namespace seqd
