// The report of `config dump`: what is in force as a file would say it, each value with a remark of
// where it is from. Pure; any thread. The data of the daemon is not trusted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace seqd::seqctl {

std::string config_text(const nlohmann::json& config);

}  // namespace seqd::seqctl
