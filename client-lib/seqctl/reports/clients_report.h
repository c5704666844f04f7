// The report of `clients`: the connections. Pure functions: any thread. The data of the daemon is
// not trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace seqd::seqctl {

// `user_name` names a user; it is called once for each, with 0 .. 2^32-1.
std::string clients_text(const nlohmann::json& clients,
                         const std::function<std::string(std::uint32_t uid)>& user_name);

}  // namespace seqd::seqctl
