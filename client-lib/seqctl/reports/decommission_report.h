// Turns the answer of decommission into what seqctl prints for people, and into its exit code. Pure
// functions: any thread. As in report.h, the data of the daemon is not trusted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace seqd::seqctl {

std::string decommission_text(const nlohmann::json& report);
int decommission_exit_code(const nlohmann::json& report);

}  // namespace seqd::seqctl
