// What commands do between two samples. One thread.
#pragma once

#include <chrono>

#include "client-lib/seqctl/output.h"

namespace seqd::seqctl {

// Waits until `end`. False: a signal came (see interruption.h), or the reader of `out` has closed
// it; noticed within 0.1 s.
bool pause_until(std::chrono::steady_clock::time_point end, Output& out);

}  // namespace seqd::seqctl
