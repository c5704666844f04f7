// Turns the answer of drain into what seqctl prints for people, and into its exit code. Pure
// functions: any thread. As in report.h, the data of the daemon is not trusted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace seqd::seqctl {

// Of an answer of list: the sequences of that name (empty: all), of which a drain may lose IDs:
// every one whose `reuse` is not "parked".
nlohmann::json drain_losses(const nlohmann::json& list, const std::string& name);
std::string drain_losses_text(const nlohmann::json& losses);
std::string drain_text(const nlohmann::json& drained);
// No ID is still available, no return is open, and there was no error.
bool drain_is_complete(const nlohmann::json& drained);
bool drain_has_errors(const nlohmann::json& drained);

}  // namespace seqd::seqctl
