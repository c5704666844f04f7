// Carries out one command of seqctl over libseqd.
#pragma once

#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqctl/output.h"

namespace seqd::seqctl {

// The exit code. Answers go to `out`, errors to `errors`.
int run_command(const Arguments& arguments, Output& out, Output& errors);

}  // namespace seqd::seqctl
