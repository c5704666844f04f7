#include "client-lib/seqctl/reports/decommission_report.h"

#include <vector>

#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

bool is_true(const json& object, const char* key) {
  return member(object, key) == json(true);
}

std::string note_of(const json& sequence) {
  for (const char* key : {"error", "why"}) {
    if (const std::string text = shown(sequence, key); text != "-") return text;
  }
  return is_true(sequence, "leasing") ? "a lease is under way" : "-";
}

std::string sequences_text(const json& sequences) {
  Rows rows = {{"SEQUENCE", "REUSE", "LEASED", "ISSUED", "RETURNED", "GAPS", "UNKNOWN", "AVAILABLE",
                "OUT", "RETURNING", "NOTE"}};
  if (!sequences.is_array() || sequences.empty()) return "no sequence was ever used here\n";
  for (const json& one : sequences) {
    rows.push_back({shown(one, "name"), shown(one, "reuse"), shown(one, "leased"),
                    shown(one, "issued"), shown(one, "returned"), shown(one, "gaps"),
                    shown(one, "unknown"), shown(one, "available"), shown(one, "out"),
                    shown(one, "returning"), note_of(one)});
  }
  return table(rows);
}

std::string stores_text(const json& stores) {
  Rows rows = {{"STORE", "INSTANCE", "RECORDS", "STATE"}};
  if (!stores.is_array()) return "";
  for (const json& one : stores) {
    const std::string error = shown(one, "error");
    const std::string state = is_true(one, "forgotten") ? "forgotten"
                              : is_true(one, "entry")   ? "knows this instance"
                                                        : "does not know this instance";
    rows.push_back({shown(one, "name"), shown(one, "instance"), shown(one, "records"),
                    error == "-" ? state : error});
  }
  return table(rows);
}

std::string files_text(const char* title, const json& paths) {
  std::string text;
  if (!paths.is_array() || paths.empty()) return text;
  for (const json& path : paths)
    text += "  " + (path.is_string() ? printable(path.get<std::string>()) : "?") + "\n";
  return std::string(title) + "\n" + text;
}

std::string last_line(const std::string& end, const std::string& why) {
  if (end == "done") return "this instance is decommissioned; the daemon ends\n";
  if (end == "preview") return "nothing was done: this is what --yes would do\n";
  if (end == "refused") return "not decommissioned, the daemon continues: " + why + "\n";
  if (end == "unfinished")
    return "not finished, and cannot be cancelled; the daemon refuses requests: " + why +
           "\nrepeat this command\n";
  return "the daemon's reply is invalid\n";
}

}  // namespace

std::string decommission_text(const json& report) {
  const std::string end = shown(report, "end");
  return sequences_text(member(report, "sequences")) + stores_text(member(report, "stores")) +
         files_text(end == "done" ? "files that are removed:" : "files that would be removed:",
                    member(report, "removed")) +
         files_text("files that stay (stores, and what is not seqd's):", member(report, "left")) +
         last_line(end, shown(report, "why"));
}

int decommission_exit_code(const json& report) {
  const std::string end = shown(report, "end");
  if (end == "done") return kExitOk;
  if (end == "preview") return kExitPreview;
  const std::string why = shown(report, "why");
  for (const char* passing : {"UNAVAILABLE: ", "BUSY: ", "STOPPING: "}) {
    if (why.starts_with(passing)) return kExitTryAgain;
  }
  return kExitError;
}

}  // namespace seqd::seqctl
