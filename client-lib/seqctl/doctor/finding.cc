#include "client-lib/seqctl/doctor/finding.h"

#include <algorithm>
#include <array>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

std::string word(Finding::Level level) {
  constexpr std::array<const char*, 4> kWords = {"ok", "unknown", "warn", "bad"};
  return kWords.at(static_cast<std::size_t>(level));
}

std::int64_t count(const Findings& findings, Finding::Level level) {
  return std::count_if(findings.begin(), findings.end(),
                       [level](const Finding& each) { return each.level == level; });
}

}  // namespace

std::string findings_text(const Findings& findings) {
  std::vector<std::vector<std::string>> rows;
  for (const Finding& each : findings) {
    rows.push_back({word(each.level), printable(each.subject), printable(each.text)});
    if (!each.remedy.empty()) rows.push_back({"", "", "-> " + printable(each.remedy)});
  }
  return table(rows);
}

json findings_value(const Findings& findings) {
  json all = json::array();
  for (const Finding& each : findings) {
    all.push_back({{"level", word(each.level)},
                   {"subject", each.subject},
                   {"text", each.text},
                   {"remedy", each.remedy.empty() ? json() : json(each.remedy)}});
  }
  return {{"bad", count(findings, Finding::Level::bad)},
          {"warn", count(findings, Finding::Level::warn)},
          {"findings", all}};
}

bool has_bad(const Findings& findings) {
  return count(findings, Finding::Level::bad) > 0;
}

}  // namespace seqd::seqctl
