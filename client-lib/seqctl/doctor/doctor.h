// `seqctl doctor`: looks at everything that can be seen from outside of the daemon as the present
// user, and says what to do. One thread.
#pragma once

#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqctl/output.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {

// The exit code: kExitError when something is bad.
int run_doctor(const Arguments& arguments, seqd_client* client, Output& out, Output& errors);

}  // namespace seqd::seqctl
