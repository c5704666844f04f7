#include "client-lib/seqctl/live/top_screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <unordered_set>

#include "client-lib/seqctl/live/stat_report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

constexpr std::size_t kLinesAbove = 2;  // the totals and the titles
constexpr std::size_t kLongestName = 40;
constexpr std::size_t kShortestName = 8;  // to which the names are cut where the table is too wide
constexpr std::size_t kLongestStore = 16;
constexpr std::size_t kLongestTrouble = 300;

constexpr const char* kHome = "\x1b[H";
constexpr const char* kRestOfLine = "\x1b[K";
constexpr const char* kRestOfScreen = "\x1b[J";
constexpr const char* kPlain = "\x1b[0m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kReverse = "\x1b[7m";

using Cells = std::vector<std::string>;
const Cells kTitles = {"NAME", "IDS/S", "AVAILABLE", "OUT", "RUNWAY", "WAITING", "STORE", "STATE"};
constexpr std::array<bool, 8> kIsNumber = {false, true, true, true, true, true, false, false};
constexpr std::size_t kOut = 3;  // of them; left out where nothing is out

std::string runway_text(const std::optional<double>& seconds) {
  if (!seconds) return "-";
  if (*seconds >= 1e7) return ">1e7 s";
  return rate_text(seconds) + " s";
}

Cells cells_of(const TopTable::Row& row) {
  return {plain_cell(row.name, kLongestName),
          rate_text(row.rate),
          std::to_string(row.available),
          std::to_string(row.out),
          runway_text(row.runway()),
          std::to_string(row.waiting),
          plain_cell(row.store, kLongestStore),
          plain_cell(row.state, kLongestStore)};
}

std::vector<std::string> lines_of(const std::vector<Cells>& rows, bool with_out) {
  std::vector<std::size_t> widths(kTitles.size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == kOut && !with_out) continue;
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (kIsNumber.at(i) ? space + row[i] : row[i] + space);
    }
    lines.push_back(line);
  }
  return lines;
}

// Where the table is wider than the terminal its names are shortened, not its last columns.
void shorten_names(std::vector<Cells>& rows, std::size_t excess) {
  std::size_t widest = 0;
  for (const Cells& row : rows) widest = std::max(widest, row[0].size());
  const std::size_t most = std::max(kShortestName, widest - std::min(excess, widest));
  for (Cells& row : rows) row[0] = plain_cell(row[0], most);
}

const char* colour_of(const TopTable::Row& row) {
  if (row.state == "stopped") return kRed;
  return row.waiting > 0 ? kYellow : "";
}

std::string first_line(const TopTable& table, const TopScreen::Heading& heading) {
  if (!heading.trouble.empty()) return "no answer: " + plain_cell(heading.trouble, kLongestTrouble);
  const std::size_t stopped = table.stopped();
  return "seqd " + plain_cell(heading.version, 32) + ": " + rate_text(heading.rate) + " IDs/s, " +
         std::to_string(table.size()) + (table.is_partial() ? " or more" : "") + " sequences, " +
         std::to_string(stopped) + " stopped, " + std::to_string(heading.waiting) +
         " requests waiting, " + std::to_string(heading.connections) + " connections";
}

// Cut to the terminal's width, with what comes in front of it and behind it.
std::string fitted(const std::string& line, const char* colour, const Terminal& terminal) {
  const std::string text = line.substr(0, terminal.columns);
  return terminal.colours && *colour != '\0' ? colour + text + kPlain : text;
}

// Behind a line of `width`. Where it fills the terminal the cursor still stands on its last
// character, and that would be cleared.
std::string end_of_line(std::size_t width, const Terminal& terminal) {
  return (width < terminal.columns ? kRestOfLine : "") + std::string("\n");
}

}  // namespace

void TopScreen::remember(const std::vector<const TopTable::Row*>& shown, std::int64_t now_ms) {
  std::erase_if(minutes_, [now_ms](const auto& each) { return each.second.is_over(now_ms); });
  if (minutes_.size() + shown.size() > kMostMinutes) {
    std::unordered_set<std::string> names;
    for (const TopTable::Row* row : shown) names.insert(row->name);
    std::erase_if(minutes_, [&names](const auto& each) { return !names.contains(each.first); });
  }
  for (const TopTable::Row* row : shown) {
    if (row->rate) minutes_[row->name].add(*row->rate, row->since_ms, row->seen_ms);
  }
}

std::string TopScreen::minute_of(const TopTable::Row& row, std::int64_t now_ms, bool utf8) const {
  const auto found = minutes_.find(row.name);
  return found == minutes_.end() ? "" : found->second.text(now_ms, utf8);
}

std::string TopScreen::text(const TopTable& table, const Heading& heading, std::size_t rows,
                            const Terminal& terminal, std::int64_t now_ms) {
  if (terminal.is_one) {
    // The last line stays empty: a line feed there would scroll.
    const std::size_t lines = terminal.rows - std::min(terminal.rows, kLinesAbove + 1);
    rows = std::min(rows, lines);
  }
  const std::vector<const TopTable::Row*> shown = table.busiest(std::min(rows, kMostRows));
  std::vector<Cells> cells = {kTitles};
  for (const TopTable::Row* row : shown) cells.push_back(cells_of(*row));
  const bool with_out = std::any_of(shown.begin(), shown.end(),
                                    [](const TopTable::Row* row) { return row->out > 0; });
  std::vector<std::string> lines = lines_of(cells, with_out);
  if (terminal.is_one && lines[0].size() > terminal.columns) {
    shorten_names(cells, lines[0].size() - terminal.columns);
    lines = lines_of(cells, with_out);
  }
  if (!terminal.is_one) {
    std::string text = first_line(table, heading) + "\n";
    for (const std::string& line : lines)
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    return text;
  }
  remember(shown, now_ms);
  const bool has_room = lines[0].size() + 2 + Minute::kCells <= terminal.columns;
  const std::string first = first_line(table, heading);
  const std::string titles = lines[0] + (has_room ? "  LAST MINUTE" : "");
  std::string text = kHome;
  text += fitted(first, heading.trouble.empty() ? "" : kRed, terminal);
  text += end_of_line(first.size(), terminal);
  text += fitted(titles, kReverse, terminal) + end_of_line(titles.size(), terminal);
  const std::size_t width = lines[0].size() + (has_room ? 2 + Minute::kCells : 0);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    text += fitted(lines[i + 1], colour_of(*shown[i]), terminal);
    if (has_room) text += "  " + minute_of(*shown[i], now_ms, terminal.utf8);
    text += end_of_line(width, terminal);
  }
  return text + kRestOfScreen;
}

json top_value(const TopTable& table, const TopScreen::Heading& heading, std::size_t rows) {
  const auto known = [](const std::optional<double>& number) {
    return number ? json(*number) : json();
  };
  json all = json::array();
  for (const TopTable::Row* row : table.busiest(std::min(rows, TopScreen::kMostRows))) {
    all.push_back({{"name", row->name},
                   {"store", row->store},
                   {"state", row->state},
                   {"available", row->available},
                   {"out", row->out},
                   {"waiting", row->waiting},
                   {"issued", row->issued ? json(*row->issued) : json()},
                   {"ids_per_second", known(row->rate)},
                   {"runway_s", known(row->runway())}});
  }
  return {{"sequences", table.size()},
          {"stopped", table.stopped()},
          {"waiting", heading.waiting},
          {"connections", heading.connections},
          {"ids_per_second", known(heading.rate)},
          {"rows", all}};
}

}  // namespace seqd::seqctl
