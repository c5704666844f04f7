#include "client-lib/seqctl/reports/rights_report.h"

#include <vector>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

std::string yes_or_no(const json& of, const char* key) {
  const json value = member(of, key);
  return value.is_boolean() ? (value.get<bool>() ? "yes" : "no") : "-";
}

}  // namespace

std::string rights_text(const json& rights,
                        const std::function<std::string(std::uint32_t uid)>& user_name) {
  const json uid = member(rights, "uid");
  const bool known = uid.is_number_integer() && uid >= 0 && uid <= UINT32_MAX;
  std::string text =
      "user        " + (known ? printable(user_name(uid.get<std::uint32_t>())) : "-");
  text += "\nadminister  " + yes_or_no(rights, "administer") + ": " + shown(rights, "why") + "\n";
  const json sequences = member(rights, "sequences");
  if (!sequences.is_array() || sequences.empty()) return text;
  std::vector<std::vector<std::string>> rows = {{"NAME", "TAKE", "WHY"}};
  for (const json& each : sequences)
    rows.push_back({shown(each, "name"), yes_or_no(each, "take"), shown(each, "why")});
  return text + table(rows);
}

}  // namespace seqd::seqctl
