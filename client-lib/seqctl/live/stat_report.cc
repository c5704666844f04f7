#include "client-lib/seqctl/live/stat_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

struct Column {
  const char* title;
  const char* key;   // of the line of JSON
  const char* from;  // of status
  enum class Kind : std::uint8_t { rate, change, level } kind;
};

constexpr std::array<Column, 7> kColumns = {{
    {"IDs/s", "ids_per_second", "issued", Column::Kind::rate},
    {"requests/s", "requests_per_second", "requests", Column::Kind::rate},
    {"connections", "connections", "connections", Column::Kind::level},
    {"waiting", "waiting", "waiting", Column::Kind::level},
    {"leases/s", "leases_per_second", "leases", Column::Kind::rate},
    {"gaps", "gaps", "gaps", Column::Kind::change},
    {"errors", "errors", "errors", Column::Kind::change},
}};

constexpr std::size_t kWidth = 10;  // at least; a line fits 80 columns

std::string cell_of(const Column& column, const std::string& text) {
  const std::size_t width = std::max(kWidth, std::string_view(column.title).size());
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string header() {
  std::string line;
  for (const Column& column : kColumns)
    line += (line.empty() ? "" : " ") + cell_of(column, column.title);
  return line + "\n";
}

template <typename Number>
json known(const std::optional<Number>& number) {
  return number ? json(*number) : json();
}

bool same_process(const json& first, const json& second) {
  return member(first, "pid") == member(second, "pid") &&
         count_of(first, "uptime_ms").value_or(0) <= count_of(second, "uptime_ms").value_or(0);
}

}  // namespace

std::optional<std::int64_t> count_of(const json& object, const char* key) {
  const json value = member(object, key);
  if (!value.is_number_integer()) return std::nullopt;
  // What is beyond an int64 is no count.
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    return std::nullopt;
  return value.get<std::int64_t>();
}

std::optional<std::int64_t> difference(const json& first, const json& second, const char* key) {
  const auto before = count_of(first, key);
  const auto after = count_of(second, key);
  if (!before || !after || *before < 0 || *after < 0) return std::nullopt;
  return std::max<std::int64_t>(*after - *before, 0);
}

std::string rate_text(const std::optional<double>& rate) {
  if (!rate) return "-";
  std::array<char, 32> text{};
  const int digits = *rate == 0 || *rate >= 10 ? 0 : *rate >= 1 ? 1 : 2;
  std::snprintf(text.data(), text.size(), "%.*f", digits, *rate);
  return text.data();
}

std::string StatReport::with_header(const std::string& line) {
  return (rows_++ % rows_a_header_ == 0 ? header() : "") + line;
}

std::string StatReport::line(const json& status, double seconds) {
  json values = {{"interval_ms", std::llround(seconds * 1'000)}};
  std::string text;
  for (const Column& column : kColumns) {
    std::optional<std::int64_t> count = column.kind == Column::Kind::level
                                            ? count_of(status, column.from)
                                            : difference(before_, status, column.from);
    std::string cell = count ? std::to_string(*count) : "-";
    values[column.key] = known(count);
    if (column.kind == Column::Kind::rate) {
      std::optional<double> rate;
      if (count) rate = static_cast<double>(*count) / seconds;
      cell = rate_text(rate);
      values[column.key] = known(rate);
    }
    text += (text.empty() ? "" : " ") + cell_of(column, cell);
  }
  return format_ == Format::json ? to_json_line(values) + "\n" : with_header(text + "\n");
}

std::string StatReport::answered(const json& status, std::int64_t now_ms) {
  std::string text;
  if (has_before_ && !same_process(before_, status)) {
    text = format_ == Format::json
               ? to_json_line({{"restarted", {{"pid", member(status, "pid")}}}}) + "\n"
               : "the daemon was restarted, pid " + shown(status, "pid") + "\n";
  } else if (has_before_) {
    // A late sample and the next one may be within a millisecond.
    const std::int64_t passed_ms = std::max<std::int64_t>(now_ms - before_ms_, 1);
    text = line(status, static_cast<double>(passed_ms) / 1'000);
  }
  has_before_ = true;
  before_ = status;
  before_ms_ = now_ms;
  return text;
}

std::string StatReport::unanswered(std::string_view code, std::string_view text) {
  if (format_ == Format::json) return error_text(format_, code, text);
  return "no answer: " + std::string(code) + ": " + printable(text) + "\n";
}

}  // namespace seqd::seqctl
