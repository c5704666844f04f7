// The commands that take samples: stat, top, watch and latency. Each returns the exit code after
// its last sample, a signal, or the end of its reader; a daemon that ends after the first sample is
// waited for. They read only, and take no ID. One thread.
#pragma once

#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqctl/output.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {

int run_stat(const Arguments& arguments, seqd_client* client, Output& out, Output& errors);
int run_watch(const Arguments& arguments, seqd_client* client, Output& out, Output& errors);
int run_latency(const Arguments& arguments, seqd_client* client, Output& out, Output& errors);
int run_top(const Arguments& arguments, seqd_client* client, Output& out, Output& errors);

}  // namespace seqd::seqctl
