// Who did something to a number, as the records of a register have it: HOST:USER:PROCESS. Functions
// without state; loop thread.
#pragma once

#include <string>

#include "daemon/rpc/methods.h"
#include "daemon/rpc/session.h"

namespace seqd {

std::string stamp_of(const MethodContext& context, const Session& session);

bool is_of(const Stamp& stamp, UserId user);

}  // namespace seqd
