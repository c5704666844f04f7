#include "daemon/main/config/config_problems.h"

#include <algorithm>

namespace seqd {
namespace {

// Levenshtein's distance: letters to insert, remove or replace.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

void Problems::add(int line, std::string_view key, std::string_view what) {
  std::string text = place(line);
  if (!key.empty()) text.append(": ").append(key);
  problems_.push_back({line, text.append(": ").append(what)});
}

void Problems::warn(int line, std::string_view key, std::string_view what) {
  warnings_.push_back(place(line).append(": ").append(key).append(": ").append(what));
}

Status Problems::status() const {
  if (problems_.empty()) return {};
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < kMaxReported; ++i)
    text.append(i == 0 ? "" : "\n").append(sorted[i].text);
  if (sorted.size() > kMaxReported)
    text.append("\nand " + std::to_string(sorted.size() - kMaxReported) + " more problems");
  return {ErrorCode::CONFIG, text};
}

std::string Problems::place(int line) const {
  if (line == kCommandLine) return "command line";
  return file_ + ":" + std::to_string(line);
}

int line_of(const WrittenKeys& written, std::string_view key, int otherwise) {
  const auto found = written.find(key);
  return found == written.end() ? otherwise : found->second;
}

std::string where_written(const WrittenKeys& written, std::string_view key) {
  const auto found = written.find(key);
  if (found == written.end()) return "not written in this table";
  if (found->second == kCommandLine) return "command line";
  return "line " + std::to_string(found->second);
}

std::string_view nearest_word(std::string_view word,
                              const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 2) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t now = distance(word, candidate);
    if (now < best_distance && now < candidate.size()) {
      best = candidate;
      best_distance = now;
    }
  }
  return best;
}

}  // namespace seqd
