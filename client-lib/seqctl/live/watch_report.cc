#include "client-lib/seqctl/live/watch_report.h"

#include <algorithm>
#include <array>
#include <utility>

#include "client-lib/seqctl/live/stat_report.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

constexpr std::size_t kWidestName = 40;
// With a name of 15 bytes a line fits 80 columns.
constexpr std::array<std::size_t, 5> kWidths = {10, 6, 9, 10, 7};

std::string cells_text(const std::array<std::string, kWidths.size()>& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t width = kWidths.at(i);
    text += ' ' + std::string(width - std::min(width, cells.at(i).size()), ' ') + cells.at(i);
  }
  return text;
}

// To the second, where there is one.
std::string runway_text(const std::optional<std::int64_t>& ms) {
  if (!ms) return "-";
  return duration_text(*ms < 1'000 ? *ms : *ms - *ms % 1'000);
}

std::string left(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

// IDs per second since the previous sample; none if there is no previous one.
std::optional<double> rate_of(const json& before, const json& now, std::int64_t passed_ms) {
  if (member(before, "name") != member(now, "name")) return std::nullopt;
  const auto issued = difference(before, now, "issued");
  if (!issued) return std::nullopt;
  // A late sample and the next one may be within a millisecond.
  const std::int64_t least_ms = std::max<std::int64_t>(passed_ms, 1);
  return static_cast<double>(*issued) * 1'000 / static_cast<double>(least_ms);
}

}  // namespace

WatchReport::WatchReport(Format format, std::vector<std::string> names, std::int64_t rows_a_header)
    : format_(format), rows_a_header_(rows_a_header) {
  for (std::string& name : names) {
    name_width_ = std::max(name_width_, std::min(name.size(), kWidestName));
    watched_.push_back({std::move(name), {}, {}});
  }
}

std::string WatchReport::answered(const json& rows, const SampleTime& time) {
  std::string text;
  failure_.clear();
  for (std::size_t at = 0; at < watched_.size(); ++at) {
    const bool has_row = rows.is_array() && at < rows.size();
    text += line(watched_[at], has_row ? rows[at] : json(), time);
  }
  before_ms_ = time.now_ms;
  return text;
}

std::string WatchReport::line(Watched& watched, const json& row, const SampleTime& time) {
  const bool in_use = row.is_object();
  std::optional<double> rate;
  if (before_ms_) rate = rate_of(watched.row, row, time.now_ms - *before_ms_);
  watched.row = {{"name", member(row, "name")}, {"issued", member(row, "issued")}};
  json values = {{"name", in_use ? member(row, "name") : json(watched.name)},
                 {"ids_per_second", rate.value_or(0)}};
  for (const char* key : {"state", "next", "available", "waiting", "error"})
    values[key] = member(row, key);
  const std::string now = to_json_line(values);
  if (now == watched.last) return {};
  watched.last = now;
  if (!rate) values["ids_per_second"] = nullptr;  // not known, which is no change from none
  values["runway_ms"] = member(row, "runway_ms");
  values["at_ms"] = time.wall_ms;
  return format_ == Format::json ? to_json_line(values) + "\n" : text_line(values, time);
}

std::string WatchReport::text_line(const json& values, const SampleTime& time) {
  std::string text;
  if (rows_++ % rows_a_header_ == 0) {
    text = left("TIME", time.clock.size()) + " " + left("NAME", name_width_) +
           cells_text({"NEXT", "IDs/s", "AVAILABLE", "RUNWAY", "WAITING"}) + " STATE\n";
  }
  const json rate = member(values, "ids_per_second");
  const auto runway = count_of(values, "runway_ms");
  const std::string error = shown(values, "error");
  const bool in_use = !member(values, "state").is_null();
  text +=
      time.clock + " " + left(shown(values, "name"), name_width_) +
      cells_text({shown(values, "next"),
                  rate_text(rate.is_number() ? std::optional(rate.get<double>()) : std::nullopt),
                  shown(values, "available"), runway_text(runway), shown(values, "waiting")}) +
      " " + (in_use ? shown(values, "state") : "not in use");
  return text + (error == "-" ? "" : ", " + error) + "\n";
}

std::string WatchReport::unanswered(std::string_view code, std::string_view text) {
  std::string failure = std::string(code) + ": " + printable(text);
  for (Watched& watched : watched_) watched.last.clear();
  before_ms_.reset();
  if (failure == failure_) return {};
  failure_ = std::move(failure);
  return format_ == Format::json ? error_text(format_, code, text)
                                 : "no answer: " + failure_ + "\n";
}

}  // namespace seqd::seqctl
