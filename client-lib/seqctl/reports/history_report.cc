#include "client-lib/seqctl/reports/history_report.h"

#include <array>
#include <ctime>
#include <vector>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

// A member that is an integer, else 0.
std::int64_t number(const json& object, const char* key) {
  const json value = member(object, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::string time_of(const json& object, const char* key) {
  const json value = member(object, key);
  return value.is_number_integer() ? time_text(value.get<std::int64_t>()) : "-";
}

std::string range_text(const json& object) {
  const std::int64_t count = number(object, "count");
  const json first = member(object, "first");
  if (!first.is_number_integer()) return "at most " + std::to_string(count) + " IDs, place unknown";
  if (count <= 1) return std::to_string(first.get<std::int64_t>());
  // A sequence whose IDs are not one more each says where the range ends.
  std::int64_t last = 0;
  if (const json end = member(object, "last"); end.is_number_integer()) {
    last = end.get<std::int64_t>();
  } else if (__builtin_add_overflow(first.get<std::int64_t>(), count - 1, &last)) {
    return "-";
  }
  return std::to_string(first.get<std::int64_t>()) + ".." + std::to_string(last) + " (" +
         std::to_string(count) + " IDs)";
}

std::string caller_text(const json& caller, const UserName& user_name) {
  const json uid = member(caller, "uid");
  const bool known = uid.is_number_integer() && uid >= 0 && uid <= UINT32_MAX;
  std::string text = "user " + (known ? printable(user_name(uid.get<std::uint32_t>())) : "-") +
                     ", pid " + shown(caller, "pid");
  const std::string name = shown(caller, "name");
  if (!name.empty() && name != "-") text += " (" + name + ")";
  return text;
}

// Why no caller is named.
std::string missing_text(const json& issued) {
  const std::string why = shown(issued, "unnamed");
  if (why == "administrators") return "shown to administrators only";
  if (why == "off") return "not recorded (daemon.history_callers)";
  if (why == "dropped") return "not kept any more";
  return "not written down";
}

void add_issue(const json& issued, const UserName& user_name, Rows& rows) {
  const std::string from = time_of(issued, "from_ms");
  const std::string to = time_of(issued, "to_ms");
  rows.push_back({"when", from == to ? from : "between " + from + " and " + to});
  const json callers = member(issued, "callers");
  if (!callers.is_array() || callers.empty()) {
    rows.push_back({"to", missing_text(issued)});
  } else {
    for (const json& caller : callers) rows.push_back({"to", caller_text(caller, user_name)});
  }
  if (callers.is_array() && callers.size() > 1) {
    rows.push_back({"", "one of these; they took IDs alternately"});
  }
  if (member(issued, "others") == json(true)) {
    const std::string why = shown(issued, "unnamed");
    rows.push_back({"", why == "administrators" ? "or others, shown to administrators only"
                        : why == "-"            ? "or others: too many to record"
                                                : "or others"});
  }
  if (number(issued, "count") > 1) rows.push_back({"among", range_text(issued)});
}

void add_origin(const json& row, Rows& rows) {
  rows.push_back({"host", shown(row, "host") + ", instance " + shown(row, "instance")});
}

std::string sum_line(const json& audit, const char* key, const char* word) {
  return shown(audit, key) + " " + word;
}

void add_history(const json& history, Rows& rows) {
  if (!history.is_object()) {
    rows.push_back({"history", "has nothing of this sequence yet"});
    return;
  }
  const json kept = member(history, "kept");
  const json dropped = member(history, "dropped");
  const json adjusted = member(history, "adjusted");
  rows.push_back({"history", "since " + time_of(history, "since_ms") + ", " +
                                 shown(history, "spans") + " issues, " + shown(history, "size") +
                                 " bytes in all"});
  rows.push_back({"  kept", sum_line(kept, "leased", "leased, ") +
                                sum_line(kept, "issued", "issued, ") +
                                sum_line(kept, "gaps", "in gaps")});
  rows.push_back({"  older than kept", sum_line(dropped, "leased", "leased, ") +
                                           sum_line(dropped, "issued", "issued, ") +
                                           sum_line(dropped, "gaps", "in gaps")});
  rows.push_back({"  in the log only", sum_line(adjusted, "leased", "leased, ") +
                                           sum_line(adjusted, "issued", "issued, ") +
                                           sum_line(adjusted, "gaps", "in gaps")});
  if (number(history, "issued_and_gap") > 0) {
    rows.push_back({"  issued, yet in a gap", shown(history, "issued_and_gap")});
  }
}

void add_store(const json& store, Rows& rows) {
  const std::string error = shown(store, "error");
  if (error != "-") {
    rows.push_back({"store", "could not be queried: " + error});
    return;
  }
  if (member(store, "exists") == json(false)) {
    rows.push_back({"store", "has no such counter"});
    return;
  }
  rows.push_back({"store", "next ID " + shown(store, "next")});
  const json parked = member(store, "parked");
  if (number(parked, "ranges") > 0) {
    rows.push_back(
        {"  parked", shown(parked, "ids") + " IDs in " + shown(parked, "ranges") + " ranges"});
  }
  if (!member(store, "all").is_object()) return;
  const std::int64_t all = number(member(store, "all"), "ids");
  std::int64_t span = 0;
  std::int64_t foreign = 0;
  if (__builtin_sub_overflow(number(store, "next"), number(store, "since"), &span) ||
      __builtin_sub_overflow(span, all, &foreign) ||
      __builtin_sub_overflow(foreign, number(parked, "ids"), &foreign)) {
    return;
  }
  rows.push_back({"  leased", std::to_string(all) + " IDs since " + shown(store, "since") + ", " +
                                  shown(member(store, "ours"), "ids") + " to this instance; " +
                                  std::to_string(foreign) + " were taken otherwise"});
}

}  // namespace

std::string time_text(std::int64_t wall_ms) {
  const std::time_t seconds = wall_ms / 1'000 - (wall_ms % 1'000 < 0 ? 1 : 0);
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts) == 0) {
    return "-";
  }
  const std::int64_t milliseconds = (wall_ms % 1'000 + 1'000) % 1'000;
  const std::string fraction = std::to_string(1'000 + milliseconds).substr(1);
  return std::string(text.data()) + "." + fraction + " UTC";
}

std::string gaps_text(const json& gaps) {
  Rows rows = {{"NUMBER", "IDS", "CAUSE", "WHEN", "LEASE", "HOST"}};
  const json list = member(gaps, "gaps");
  if (list.is_array()) {
    for (const json& gap : list) {
      rows.push_back({shown(gap, "number"), range_text(gap), shown(gap, "cause"),
                      time_of(gap, "at_ms"), shown(gap, "lease"), shown(gap, "host")});
    }
  }
  std::string text = rows.size() > 1 ? table(rows) : "no gaps\n";
  if (member(gaps, "more") == json(true) && rows.size() > 1) {
    text += "there are more: --after " + rows.back().front() + "\n";
  }
  const std::int64_t ids = number(gaps, "dropped_ids");
  const std::int64_t leases = number(gaps, "dropped_leases");
  if (ids > 0 || leases > 0) {
    text += "older than kept: " + std::to_string(ids) + " IDs in gaps, " + std::to_string(leases) +
            " leases that cannot be traced\n";
  }
  return text;
}

std::string explanation_text(const json& explanation, const UserName& user_name) {
  Rows rows = {{"ID", shown(explanation, "id") + " of \"" + shown(explanation, "name") + "\""},
               {"answer", shown(explanation, "text")}};
  const json issued = member(explanation, "issued");
  if (issued.is_object()) add_issue(issued, user_name, rows);
  const json gap = member(explanation, "gap");
  if (gap.is_object()) {
    rows.push_back(
        {"gap", range_text(gap) + ", " + shown(gap, "cause") + ", made " + time_of(gap, "at_ms")});
    add_origin(gap, rows);
  }
  const json lease = member(explanation, "lease");
  if (lease.is_object()) {
    const bool ranged = member(lease, "first").is_number_integer();
    rows.push_back({"lease", shown(lease, "lease") + (ranged ? ", " + range_text(lease) : "")});
    if (ranged) {
      rows.push_back({"leased", time_of(lease, "at_ms")});
      if (!gap.is_object()) add_origin(lease, rows);
    }
  }
  return table(rows);
}

bool audit_is_good(const json& audit) {
  return member(audit, "good") == json(true);
}

std::string audit_text(const json& audit) {
  Rows rows = {{"sequence", shown(audit, "name")},
               {"leased", shown(audit, "leased")},
               {"= issued", shown(audit, "issued")},
               {"+ available", shown(audit, "available")},
               {"+ out", shown(audit, "out")},
               {"+ returning", shown(audit, "returning")},
               {"+ returned", shown(audit, "returned")},
               {"+ gaps", shown(audit, "gaps")},
               {"unaccounted", shown(audit, "unaccounted")},
               {"leases unknown", shown(audit, "unknown")}};
  add_history(member(audit, "history"), rows);
  add_store(member(audit, "store"), rows);
  const json problems = member(audit, "problems");
  if (problems.is_array()) {
    for (const json& problem : problems) {
      rows.push_back({"PROBLEM", problem.is_string()
                                     ? printable(problem.get_ref<const std::string&>())
                                     : printable(to_json_line(problem))});
    }
  }
  rows.push_back({"verdict", audit_is_good(audit) ? "everything agrees" : "DOES NOT AGREE"});
  return table(rows);
}

}  // namespace seqd::seqctl
