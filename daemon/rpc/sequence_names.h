// The names of sequences in requests: read, and refused as protocol/text/names.h says. Functions
// without state; loop thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "daemon/rpc/methods.h"

namespace seqd {

// BAD_REQUEST, or TOO_LARGE above limits.name, for a name of which no IDs can be requested.
Status check_name(const MethodLimits& limits, std::string_view name);

// The same for a name that may have a period behind it, as queries accept.
Status check_name_with_period(const MethodLimits& limits, std::string_view name);

// WRONG_MODE for a sequence that inserts, and a register: they lease nothing.
Status check_leases(const MethodContext& context, std::string_view name);

// All parameters of `message`, each a name that may have a period behind it; `usage` where one is
// no text, or there are more than `most`. The names lie in the message.
Result<std::vector<std::string_view>> read_names(const MethodLimits& limits,
                                                 const protocol::Message& message, std::size_t most,
                                                 const Status& usage);

}  // namespace seqd
