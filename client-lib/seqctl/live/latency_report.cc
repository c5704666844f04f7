#include "client-lib/seqctl/live/latency_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

constexpr std::int64_t kLastBound = 1'000'000'000'000;  // microseconds, beyond every time-out

// 1, 2, 5, 10, 20, 50 ...
std::int64_t bound_after(std::int64_t bound) {
  std::int64_t power = 1;
  while (power * 10 <= bound) power *= 10;
  return bound / power == 1 ? power * 2 : bound / power == 2 ? power * 5 : power * 10;
}

double in_us(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1'000;
}

std::string us_text(std::int64_t nanoseconds) {
  std::array<char, 32> text{};
  const double us = in_us(nanoseconds);
  std::snprintf(text.data(), text.size(), us < 100 ? "%.1f us" : "%.0f us", us);
  return text.data();
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

std::string bar(double cells, bool utf8) {
  std::string text;
  if (!utf8) {
    // What is there is seen, however little it is.
    const auto whole = static_cast<std::size_t>(std::llround(cells));
    return std::string(cells > 0 ? std::max<std::size_t>(whole, 1) : 0, '#');
  }
  constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::ceil(cells * 8));
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths.at(eighths % 8);
}

void LatencyReport::sort() {
  if (sorted_ == samples_.size()) return;
  std::sort(samples_.begin(), samples_.end());
  sorted_ = samples_.size();
}

std::int64_t LatencyReport::quantile(double part) {
  sort();
  const auto count = static_cast<double>(samples_.size());
  const auto rank = static_cast<std::size_t>(std::ceil(part * count));
  return samples_.at(std::clamp<std::size_t>(rank, 1, samples_.size()) - 1);
}

std::vector<LatencyReport::Bucket> LatencyReport::buckets() {
  sort();
  std::vector<Bucket> all;
  std::int64_t from = 0;
  for (std::int64_t below = 1; from < kLastBound; from = below, below = bound_after(below)) {
    const auto first = std::lower_bound(samples_.begin(), samples_.end(), from * 1'000);
    const auto end = std::lower_bound(samples_.begin(), samples_.end(), below * 1'000);
    // None in front of the first time, and none behind the last.
    if (end == samples_.begin()) continue;
    if (first == samples_.end()) break;
    all.push_back({from, below, static_cast<std::size_t>(end - first)});
  }
  return all;
}

json LatencyReport::value() {
  json value = {{"count", samples_.size()}};
  if (empty()) return value;
  value["min_us"] = in_us(quantile(0));
  value["p50_us"] = in_us(quantile(0.5));
  value["p90_us"] = in_us(quantile(0.9));
  value["p99_us"] = in_us(quantile(0.99));
  value["max_us"] = in_us(quantile(1));
  for (const Bucket& bucket : buckets()) {
    value["histogram"].push_back(
        {{"from_us", bucket.from_us}, {"below_us", bucket.below_us}, {"count", bucket.count}});
  }
  return value;
}

std::string LatencyReport::text(std::size_t width, bool utf8) {
  if (empty()) return "no reply was measured\n";
  std::string text = std::to_string(samples_.size()) + " pings: min " + us_text(quantile(0)) +
                     ", p50 " + us_text(quantile(0.5)) + ", p90 " + us_text(quantile(0.9)) +
                     ", p99 " + us_text(quantile(0.99)) + ", max " + us_text(quantile(1)) + "\n";
  const std::vector<Bucket> all = buckets();
  std::size_t most = 0;
  for (const Bucket& bucket : all) most = std::max(most, bucket.count);
  const std::size_t bound_width = std::to_string(all.back().below_us).size();
  const std::size_t count_width = std::to_string(most).size();
  for (const Bucket& bucket : all) {
    const double cells = static_cast<double>(bucket.count) / static_cast<double>(most);
    text += padded(std::to_string(bucket.from_us), bound_width) + " .. " +
            padded(std::to_string(bucket.below_us), bound_width) + " us  " +
            padded(std::to_string(bucket.count), count_width);
    if (bucket.count > 0) text += "  " + bar(cells * static_cast<double>(width), utf8);
    text += "\n";
  }
  return text;
}

}  // namespace seqd::seqctl
