// Sockets that systemd opened for us. Called once, before any thread is started: it clears the
// environment variables that name them.
#pragma once

#include <vector>

#include "daemon/base/status.h"

namespace seqd {

// The listening Unix stream sockets passed by socket activation, close-on-exec and non-blocking;
// the caller owns them. Empty when there are none. CONFIG when one is of another kind, or there are
// more than 16; then all of them are closed.
Result<std::vector<int>> activated_sockets();

}  // namespace seqd
