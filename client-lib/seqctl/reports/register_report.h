// What seqctl prints of a register, from the records that the daemon answers with. Pure functions:
// any thread. The data of the daemon is not trusted, as in report.h.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace seqd::seqctl {

inline constexpr std::int64_t kRecordsAtOnce = 500;  // of a page; the most that the daemon takes

// "INV-2026-00017 confirmed", and for whom.
std::string record_text(const nlohmann::json& record);

// A page of records; `is_first`: with a head.
std::string records_text(const nlohmann::json& records, bool is_first);
std::string records_csv(const nlohmann::json& records, bool is_first);  // RFC 4180
std::string records_json(const nlohmann::json& records);                // one a line

std::string close_preview_text(std::string_view name, std::int64_t unconfirmed);
std::string closed_text(std::string_view name, const nlohmann::json& highest);
std::string settled_text(std::int64_t settled, std::int64_t failed);

// The cells of a line of CSV; a cell in quotes may contain commas and doubled quotes.
std::vector<std::string> csv_cells(std::string_view line);

}  // namespace seqd::seqctl
