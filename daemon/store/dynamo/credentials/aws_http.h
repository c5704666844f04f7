// What the sources that query a server have in common. Functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/http.h"

namespace seqd {

inline constexpr std::int64_t kAwsPatienceMs = 5'000;  // for an answer of this host or hypervisor

HttpRequest aws_get(std::string url, std::vector<std::string> headers);

// Empty: it is an answer with status 200. Else what is wrong with it; of its body, only the error
// that it names is included.
std::string fault_of_aws_reply(const HttpReply& reply);

}  // namespace seqd
