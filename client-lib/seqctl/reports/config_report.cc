#include "client-lib/seqctl/reports/config_report.h"

#include <algorithm>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

// Where the remarks begin; a longer line has its own behind it.
constexpr std::size_t kRemark = 44;

std::string remark_of(const json& option) {
  const std::string from = shown(option, "from");
  const std::string line = shown(option, "line");
  std::string remark = from == "file" && line != "-"         ? "line " + line
                       : from == "sequence_defaults"         ? "[sequence_defaults]"
                       : from == "environment"               ? "environment or AWS profile"
                       : from == "earlier" || from == "file" ? "an earlier configuration"
                                                             : from;
  if (member(option, "waits") == json(true)) remark += "; the file waits for a restart";
  return remark;
}

std::string table_text(const json& table) {
  std::string text = "\n[" + shown(table, "table") + "]\n";
  const json options = member(table, "options");
  if (!options.is_array()) return text;
  for (const json& option : options) {
    const std::string line = shown(option, "key") + " = " + shown(option, "value");
    text += line + std::string(kRemark - std::min(kRemark, line.size()), ' ') + "  # " +
            remark_of(option) + "\n";
  }
  return text;
}

}  // namespace

std::string config_text(const json& config) {
  const std::string file = shown(config, "file");
  std::string text = file == "-" ? "# no file was read\n" : "# " + file + "\n";
  const json tables = member(config, "tables");
  if (!tables.is_array()) return text;
  for (const json& table : tables) text += table_text(table);
  return text;
}

}  // namespace seqd::seqctl
