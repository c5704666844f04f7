#include "client-lib/seqctl/reports/register_report.h"

#include <array>
#include <ctime>
#include <utility>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

// In UTC, as 2026-11-30T13:05:06Z; "-" where it is none.
std::string time_of(const json& stamp) {
  const json at = member(stamp, "at_ms");
  if (!at.is_number_integer()) return "-";
  const auto seconds = static_cast<std::time_t>(at.get<std::int64_t>() / 1'000);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "-";
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

json last_of(const json& record) {
  const json former = member(record, "former");
  return former.is_array() && !former.empty() ? former.back() : json();
}

// The present key, or the last one that it was cancelled for.
std::string key_of(const json& record) {
  const json key = member(record, "key");
  return key.is_string() ? shown(record, "key") : shown(last_of(record), "key");
}

std::string reason_of(const json& record) {
  const json key = member(record, "key");
  return key.is_string() ? "" : shown(last_of(record), "reason");
}

// When it came into its state, and by whom.
json newest_stamp(const json& record) {
  if (const json confirmed = member(record, "confirmed"); confirmed.is_object()) return confirmed;
  if (!member(record, "key").is_string()) return member(last_of(record), "cancelled");
  return member(record, "assigned");
}

Row row_of(const json& record) {
  const json assigned = member(record, "assigned");
  const json newest = newest_stamp(record);
  return {shown(record, "number"), shown(record, "text"), shown(record, "state"),
          key_of(record),          time_of(assigned),     shown(assigned, "by"),
          time_of(newest),         shown(newest, "by"),   reason_of(record)};
}

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char each : text) quoted += each == '"' ? "\"\"" : std::string(1, each);
  return quoted + "\"";
}

std::string csv_line(const Row& row) {
  std::string line;
  for (const std::string& each : row) line += (line.empty() ? "" : ",") + cell(each);
  return line + "\r\n";
}

}  // namespace

std::string record_text(const json& record) {
  const std::string reason = reason_of(record);
  return shown(record, "text") + " " + shown(record, "state") + " " + key_of(record) +
         (reason.empty() ? "" : ": " + reason) + "\n";
}

std::string records_text(const json& records, bool is_first) {
  std::vector<Row> rows;
  if (is_first)
    rows.push_back({"NUMBER", "TEXT", "STATE", "KEY", "ASSIGNED", "BY", "SINCE", "BY", "REASON"});
  if (records.is_array())
    for (const json& record : records) rows.push_back(row_of(record));
  return table(rows);
}

std::string records_csv(const json& records, bool is_first) {
  std::string out;
  if (is_first)
    out = csv_line({"number", "text", "state", "key", "assigned_at", "assigned_by", "since",
                    "since_by", "reason"});
  if (records.is_array())
    for (const json& record : records) out += csv_line(row_of(record));
  return out;
}

std::string records_json(const json& records) {
  std::string out;
  if (records.is_array())
    for (const json& record : records) out += to_json_line(record) + "\n";
  return out;
}

std::string close_preview_text(std::string_view name, std::int64_t unconfirmed) {
  return std::string(name) + " would get no more numbers; " + std::to_string(unconfirmed) +
         " of its numbers are not confirmed. They can still be confirmed or cancelled after the "
         "close. To do it: --yes\n";
}

std::string closed_text(std::string_view name, const json& highest) {
  return std::string(name) + " is closed; its highest number is " + to_json_line(highest) + "\n";
}

std::string settled_text(std::int64_t settled, std::int64_t failed) {
  return std::to_string(settled) + " settled, " + std::to_string(failed) + " failed\n";
}

std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char each = line[at];
    if (quoted && each == '"' && at + 1 < line.size() && line[at + 1] == '"') {
      cells.back() += '"';
      ++at;
    } else if (each == '"') {
      quoted = !quoted;
    } else if (each == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += each;
    }
  }
  return cells;
}

}  // namespace seqd::seqctl
