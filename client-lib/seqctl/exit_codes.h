// seqctl's exit codes; documented in seqctl(1). 69 and 75 are EX_UNAVAILABLE and EX_TEMPFAIL of
// sysexits.h, which supervisors know.
#pragma once

#include "client-lib/seqd.h"

namespace seqd::seqctl {

constexpr int kExitOk = 0;
constexpr int kExitError = 1;          // of the daemon, its store, or of writing the output
constexpr int kExitUsage = 2;          // the arguments are wrong
constexpr int kExitUnbalanced = 3;     // an audit found that something does not agree
constexpr int kExitPreview = 4;        // --yes is missing: only shown what would be done
constexpr int kExitStopped = 5;        // status found a stopped sequence, or a store with an error
constexpr int kExitAbsent = 69;        // no daemon answers
constexpr int kExitInterrupted = 130;  // by SIGINT or SIGTERM; what was taken is printed
constexpr int kExitTryAgain = 75;      // busy, store away, time-out: the same may succeed later

inline int exit_code(int result) {
  if (result == SEQD_OK) return kExitOk;
  if (result == SEQD_E_CONNECT) return kExitAbsent;
  if (result == SEQD_E_ARGUMENT) return kExitUsage;
  return seqd_error_is_transient(result) != 0 ? kExitTryAgain : kExitError;
}

}  // namespace seqd::seqctl
