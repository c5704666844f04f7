// Turns the answer of drain into what seqctl prints for people, and into its exit code. Pure
// functions: any thread. As in report.h, nothing is assumed about what the daemon sent.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace seqd::seqctl {

std::string drain_text(const nlohmann::json& drained);
// Nothing is left in hand or on its way, and there was no error.
bool drain_is_complete(const nlohmann::json& drained);
bool drain_has_errors(const nlohmann::json& drained);

}  // namespace seqd::seqctl
