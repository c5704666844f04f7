// Turns the answers of gaps, explain and audit into what seqctl prints for people. Pure functions:
// any thread. As in report.h, the data of the daemon is not trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace seqd::seqctl {

std::string gaps_text(const nlohmann::json& gaps);
// The name of a user, or its number.
using UserName = std::function<std::string(std::uint32_t uid)>;
std::string explanation_text(const nlohmann::json& explanation, const UserName& user_name);
std::string audit_text(const nlohmann::json& audit);
// Whether an audit found that everything agrees.
bool audit_is_good(const nlohmann::json& audit);

// "2026-11-21 15:04:05.123 UTC".
std::string time_text(std::int64_t wall_ms);

}  // namespace seqd::seqctl
