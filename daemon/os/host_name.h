// The name of this host, for records that people read. Any thread.
#pragma once

#include <string>

namespace seqd {

// "unknown" where the system does not say.
std::string host_name();

}  // namespace seqd
