// `seqctl doctor`: checks everything that the present user can see from outside of the daemon, and
// prints what to do. One thread.
#pragma once

#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqctl/output.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {

// The exit code: kExitError when something is bad.
int run_doctor(const Arguments& arguments, seqd_client* client, Output& out, Output& errors);

}  // namespace seqd::seqctl
