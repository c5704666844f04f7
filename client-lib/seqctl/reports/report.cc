#include "client-lib/seqctl/reports/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <vector>

#include "protocol/text/plain_text.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

// Bytes of the character at the front, if it is one of DEL, C1 or those that turn the direction of
// the text round (U+200E, U+200F, U+2028 .. U+202E, U+2066 .. U+2069); else 0.
std::size_t obeyed_by_terminals(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  if (at(0) == 0x7f) return 1;
  if (at(0) == 0xc2 && at(1) >= 0x80 && at(1) < 0xa0) return 2;
  if (at(0) != 0xe2) return 0;
  const bool marks = at(1) == 0x80 && (at(2) == 0x8e || at(2) == 0x8f);
  const bool overrides = at(1) == 0x80 && at(2) >= 0xa8 && at(2) <= 0xae;
  const bool isolates = at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9;
  return marks || overrides || isolates ? 3 : 0;
}

constexpr std::size_t kMostListed = 40;  // lines; -o json has all

// A line each, indented; empty if there is none.
std::string listed(const json& texts) {
  std::string all;
  if (!texts.is_array()) return all;
  for (std::size_t i = 0; i < texts.size() && i < kMostListed; ++i) {
    const json& each = texts[i];
    all += "  " +
           printable(each.is_string() ? each.get_ref<const std::string&>() : to_json_line(each)) +
           "\n";
  }
  if (texts.size() > kMostListed)
    all += "  and " + std::to_string(texts.size() - kMostListed) + " more\n";
  return all;
}

// Of several lines, as a configuration's problems: each on a line of its own.
std::string printable_lines(std::string_view text) {
  std::string all;
  for (;;) {
    const std::size_t end = text.find('\n');
    all += printable(text.substr(0, end));
    if (end == std::string_view::npos) return all;
    all += "\n  ";
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string shown(const json& object, const char* key) {
  if (!object.is_object()) return "-";
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "-";
  if (found->is_string()) return printable(found->get_ref<const std::string&>());
  return printable(to_json_line(*found));
}

json member(const json& object, const char* key) {
  if (!object.is_object()) return json();
  const auto found = object.find(key);
  return found == object.end() ? json() : *found;
}

bool inserts(const json& row) {
  return row.is_object() && row.contains("reuse") && row.at("reuse").is_null();
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

json from_message_pack(std::string_view bytes) {
  return json::from_msgpack(bytes.begin(), bytes.end(), true, false);
}

std::string to_json_line(const json& value) {
  // Within strings JSON has another way to write what a terminal would obey.
  const std::string plain = value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string out;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::size_t size = obeyed_by_terminals(rest);
    if (size == 0) {
      out.push_back(rest[0]);
      rest.remove_prefix(1);
      continue;
    }
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]) & 0x3fU; };
    const unsigned code = size == 1   ? 0x7fU
                          : size == 2 ? 0x80U | at(1)
                                      : 0x2000U | at(1) << 6U | at(2);
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", code);
    out.append(escape.data());
    rest.remove_prefix(size);
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string plain(text.size(), '\0');
  plain.resize(protocol::write_plain_text(text, plain.data(), plain.size()));
  std::string out;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::size_t size = obeyed_by_terminals(rest);
    out.push_back(size == 0 ? rest[0] : '?');
    rest.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string ids_text(std::span<const seqd_run> runs) {
  std::string text;
  for (const seqd_run& run : runs) {
    for (std::int64_t i = 0; i < run.count; ++i)
      text += std::to_string(run.first + i * run.step) + "\n";
  }
  return text;
}

std::string runs_text(std::span<const seqd_run> runs) {
  std::string text;
  for (const seqd_run& run : runs) {
    text += std::to_string(run.first) + " " + std::to_string(run.count) + " " +
            std::to_string(run.step) + "\n";
  }
  return text;
}

json runs_json(std::span<const seqd_run> runs) {
  json all = json::array();
  for (const seqd_run& run : runs)
    all.push_back({{"first", run.first}, {"count", run.count}, {"step", run.step}});
  return all;
}

std::string peek_text(const json& peek) {
  return table({{"next", shown(peek, "next")},
                {"available", shown(peek, "available")},
                {"last", shown(peek, "last")}});
}

std::string list_text(const json& list) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "STORE", "STATE", "NEXT", "AVAILABLE", "OUT", "ERROR"}};
  if (!list.is_array()) return table(rows);
  // A store that fails has one long text for each of its sequences.
  std::map<std::string, std::string> shown_for;
  for (const json& each : list) {
    const std::string name = shown(each, "name");
    const std::string error = shown(each, "error");
    const auto [first, is_new] = shown_for.try_emplace(error, name);
    rows.push_back({name, shown(each, "store"), shown(each, "state"), shown(each, "next"),
                    shown(each, "available"), shown(each, "out"),
                    is_new || error == "-" ? error : "as for " + first->second});
  }
  return table(rows);
}

json stopped_sequences(const json& list) {
  json stopped = json::array();
  if (!list.is_array()) return stopped;
  for (const json& each : list) {
    if (member(each, "state") != "stopped") continue;
    stopped.push_back({{"name", member(each, "name")},
                       {"store", member(each, "store")},
                       {"error", member(each, "error")}});
  }
  return stopped;
}

bool status_is_good(const json& status) {
  const json stopped = member(status, "stopped");
  if (stopped.is_array() && !stopped.empty()) return false;
  const json stores = member(status, "stores");
  return !stores.is_array() || std::all_of(stores.begin(), stores.end(), [](const json& store) {
    return member(store, "error").is_null();
  });
}

std::string status_text(const json& status) {
  const json uptime = member(status, "uptime_ms");
  const json log = member(status, "log");
  std::vector<std::vector<std::string>> rows = {
      {"daemon",
       "seqd " + shown(status, "version") + ", pid " + shown(status, "pid") + ", up " +
           (uptime.is_number_integer() ? duration_text(uptime.get<std::int64_t>()) : "-")},
      {"instance", shown(status, "instance")},
      {"started", shown(status, "state_how")},
      {"clients",
       shown(status, "connections") + " connected, " + shown(status, "requests") + " requests"},
      {"IDs", shown(status, "issued") + " issued, " + shown(status, "out") + " in blocks, " +
                  shown(status, "sequences") + " sequences, " + shown(status, "waiting") +
                  " requests waiting"},
      {"log", "position " + shown(log, "position") + ", " + shown(log, "syncs") + " syncs, " +
                  shown(log, "rotations") + " rotations"}};
  const json runway = member(status, "runway_ms");
  if (runway.is_number_integer())
    rows.push_back({"runway", duration_text(runway.get<std::int64_t>()) + " (" +
                                  shown(status, "runway_sequence") + ")"});
  const json ending = member(status, "ending");
  if (ending.is_array()) {
    for (const json& each : ending) {
      const std::string days = shown(each, "days_left");
      rows.push_back({"ends", shown(each, "name") + ": " + shown(each, "left") +
                                  " IDs left to lease" +
                                  (days == "-" ? "" : ", " + days + " days at the present rate")});
    }
  }
  const json stopped = member(status, "stopped");
  if (stopped.is_array()) {
    for (const json& each : stopped)
      rows.push_back({"stopped", shown(each, "name") + ": " + shown(each, "error")});
  }
  const json stores = member(status, "stores");
  if (stores.is_array()) {
    for (const json& store : stores) {
      const std::string error = shown(store, "error");
      const std::string mode = shown(store, "lease_mode");
      rows.push_back({"store", shown(store, "name") + " (" + shown(store, "type") +
                                   (mode == "-" ? "" : ", leases " + mode) + "): " +
                                   shown(store, "state") + (error == "-" ? "" : ", " + error)});
    }
  }
  return table(rows);
}

std::string parsed_text(const json& parsed) {
  const std::string check = shown(parsed, "check");
  return table({{"number", shown(parsed, "number")},
                {"period", shown(parsed, "period")},
                {"check", check == "-" ? check : check + ", good"}});
}

std::string advance_text(const json& next) {
  return next.dump() + "\n";
}

std::string advance_preview_text(const json& preview) {
  std::string text = "the counter of " + shown(preview, "name") + " would be raised " +
                     (member(preview, "to").is_null() ? "above every ID that this host has leased"
                                                      : "to " + shown(preview, "to")) +
                     " (next ID here: " + shown(preview, "next") + ")\n";
  if (member(preview, "to").is_null())
    text +=
        "what other hosts leased is known to this counter alone: if it is a new one, use --to\n";
  if (member(preview, "everywhere") == json(true))
    text += "every host would discard the IDs it holds below that\n";
  return text +
         "a counter cannot be lowered again; nothing was done: this is what --yes would do\n";
}

std::string reload_text(const json& reload) {
  const std::string applied = listed(member(reload, "applied"));
  const std::string restart = listed(member(reload, "restart_needed"));
  return (applied.empty() ? "nothing to apply\n" : "applied:\n" + applied) +
         (restart.empty() ? "" : "needs a restart:\n" + restart);
}

std::string duration_text(std::int64_t milliseconds) {
  struct Unit {
    const char* name;
    std::int64_t milliseconds;
  };
  constexpr std::array<Unit, 5> kUnits = {
      {{"d", 86'400'000}, {"h", 3'600'000}, {"min", 60'000}, {"s", 1'000}, {"ms", 1}}};
  if (milliseconds <= 0) return "0 ms";
  std::size_t first = 0;
  while (milliseconds < kUnits[first].milliseconds) ++first;
  std::string text =
      std::to_string(milliseconds / kUnits[first].milliseconds) + " " + kUnits[first].name;
  if (first + 1 < kUnits.size()) {
    const std::int64_t rest =
        milliseconds % kUnits[first].milliseconds / kUnits[first + 1].milliseconds;
    if (rest > 0) text += " " + std::to_string(rest) + " " + kUnits[first + 1].name;
  }
  return text;
}

std::string error_text(Format format, std::string_view code, std::string_view text) {
  if (format == Format::json)
    return to_json_line({{"error", {{"code", code}, {"text", text}}}}) + "\n";
  return "seqctl: " + std::string(code) + ": " + printable_lines(text) + "\n";
}

}  // namespace seqd::seqctl
