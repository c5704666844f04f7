#include "client-lib/seqctl/reports/drain_report.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

bool is_zero(const json& object, const char* key) {
  return member(object, key) == json(0);
}

// "12, 40..99": the IDs of an array of [first, count], which are `step` apart.
std::string spans_text(const json& spans, std::int64_t step) {
  std::string text;
  if (!spans.is_array()) return "-";
  for (const json& span : spans) {
    const bool whole = span.is_array() && span.size() == 2 && span[0].is_number_integer() &&
                       span[1].is_number_integer();
    std::int64_t way = 0;
    std::int64_t last = 0;
    if (!whole || __builtin_mul_overflow(span[1].get<std::int64_t>() - 1, step, &way) ||
        __builtin_add_overflow(span[0].get<std::int64_t>(), way, &last)) {
      return "-";
    }
    const std::int64_t first = span[0].get<std::int64_t>();
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last != first) text += ".." + std::to_string(last);
  }
  return text.empty() ? "-" : text;
}

// "orders" is the present period of a sequence with periods: only the daemon knows which one.
bool is_meant(const std::string& listed, const std::string& name) {
  return name.empty() || listed == name || listed.starts_with(name + "@");
}

}  // namespace

json drain_losses(const json& list, const std::string& name) {
  json losses = json::array();
  if (!list.is_array()) return losses;
  for (const json& one : list) {
    if (!is_meant(shown(one, "name"), name) || inserts(one)) continue;
    if (member(one, "reuse") == json("parked")) continue;
    losses.push_back({{"name", member(one, "name")},
                      {"available", member(one, "available")},
                      {"reuse", member(one, "reuse")}});
  }
  return losses;
}

std::string drain_losses_text(const json& losses) {
  std::vector<std::vector<std::string>> rows = {{"SEQUENCE", "REUSE", "AVAILABLE", "WOULD BECOME"}};
  for (const json& one : losses) {
    const bool lowers = member(one, "reuse") == json("tail");
    rows.push_back({shown(one, "name"), shown(one, "reuse"), shown(one, "available"),
                    lowers ? "a gap, except for the end of the counter" : "a gap: never issued"});
  }
  return table(rows) + "nothing was done: this is what --yes would do\n";
}

std::string drain_text(const json& drained) {
  std::vector<std::vector<std::string>> rows = {
      {"SEQUENCE", "REUSE", "RETURNED", "GAPS", "RETURNING", "AVAILABLE", "WHY"}};
  if (!drained.is_array() || drained.empty()) return "nothing to drain\n";
  for (const json& one : drained) {
    const std::string error = shown(one, "error");
    const json given = member(one, "step");
    const std::int64_t step = given.is_number_integer() ? given.get<std::int64_t>() : 1;
    rows.push_back(
        {shown(one, "name"), shown(one, "reuse"), spans_text(member(one, "returned"), step),
         spans_text(member(one, "gaps"), step), shown(one, "returning"), shown(one, "available"),
         error != "-"                           ? error
         : member(one, "removed") == json(true) ? "removed"
                                                : shown(one, "why")});
  }
  return table(rows);
}

bool drain_has_errors(const json& drained) {
  return !drained.is_array() || std::any_of(drained.begin(), drained.end(), [](const json& one) {
    return !member(one, "error").is_null();
  });
}

bool drain_is_complete(const json& drained) {
  return !drain_has_errors(drained) &&
         std::all_of(drained.begin(), drained.end(), [](const json& one) {
           return is_zero(one, "returning") && is_zero(one, "available");
         });
}

}  // namespace seqd::seqctl
