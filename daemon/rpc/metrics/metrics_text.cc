#include "daemon/rpc/metrics/metrics_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "daemon/base/assertion.h"
#include "protocol/text/utf8.h"

namespace seqd {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

std::string_view kind_word(MetricFamily::Kind kind) {
  switch (kind) {
    case MetricFamily::Kind::counter:
      return "counter";
    case MetricFamily::Kind::gauge:
      return "gauge";
    case MetricFamily::Kind::histogram:
      break;
  }
  return "histogram";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The part of `text` in front of `end`, which leaves it with `end`.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

// Of the parameters behind a type: "q=0.5"; 1 where there is none, 0 where it cannot be read.
double quality_of(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view one = trimmed(take_until(parameters, ';'));
    if (!one.starts_with("q=")) continue;
    double quality = 0;
    const auto read = std::from_chars(one.data() + 2, one.data() + one.size(), quality);
    const bool good = read.ec == std::errc() && quality >= 0 && quality <= 1;
    return good ? quality : 0;
  }
  return 1;
}

}  // namespace

std::string_view metrics_content_type(MetricsFormat format) {
  return format == MetricsFormat::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

MetricsFormat metrics_format_for(std::string_view accept) {
  double open = 0;
  double plain = 0;
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view type = trimmed(take_until(parameters, ';'));
    if (type == "application/openmetrics-text") open = std::max(open, quality_of(parameters));
    if (type == "text/plain") plain = std::max(plain, quality_of(parameters));
  }
  return open > 0 && open >= plain ? MetricsFormat::openmetrics : MetricsFormat::prometheus;
}

void MetricsText::begin(const MetricFamily& family) {
  // Only OpenMetrics distinguishes the name of a counter's family from those of its samples.
  const bool total =
      family.kind == MetricFamily::Kind::counter && format_ == MetricsFormat::prometheus;
  for (const std::string_view word : {"# HELP ", "# TYPE "}) {
    out_.append(word).append(family.name).append(total ? "_total " : " ");
    out_.append(word == "# HELP " ? family.help : kind_word(family.kind)).push_back('\n');
  }
}

void MetricsText::sample(const MetricFamily& family, MetricLabels labels, std::int64_t value) {
  open(family, family.kind == MetricFamily::Kind::counter ? "_total" : "", labels);
  close(value);
}

void MetricsText::sample(const MetricFamily& family, MetricLabels labels, double value) {
  open(family, family.kind == MetricFamily::Kind::counter ? "_total" : "", labels);
  number(value);
  out_.push_back('\n');
}

void MetricsText::histogram(const MetricFamily& family, MetricLabels labels,
                            const DurationHistogram& durations) {
  ASSERT(family.kind == MetricFamily::Kind::histogram);
  std::int64_t count = 0;
  for (std::size_t at = 0; at <= DurationHistogram::kBoundsUs.size(); ++at) {
    count += static_cast<std::int64_t>(durations.within(at));
    std::string bound;
    if (at < DurationHistogram::kBoundsUs.size()) {
      MetricsText(bound, format_)
          .number(static_cast<double>(DurationHistogram::kBoundsUs.at(at)) / 1e6);
    }
    open(family, "_bucket", labels, bound.empty() ? "+Inf" : bound);
    close(count);
  }
  open(family, "_sum", labels);
  number(static_cast<double>(durations.sum_us()) / 1e6);
  out_.push_back('\n');
  open(family, "_count", labels);
  close(count);
}

void MetricsText::end() {
  if (format_ == MetricsFormat::openmetrics) out_.append("# EOF\n");
}

void MetricsText::open(const MetricFamily& family, std::string_view suffix, MetricLabels labels,
                       std::string_view bound) {
  out_.append(family.name).append(suffix);
  bool first = true;
  for (const MetricLabel& each : labels) {
    label(each.name, each.value, first);
    first = false;
  }
  if (!bound.empty()) {
    label("le", bound, first);
    first = false;
  }
  out_.append(first ? " " : "} ");
}

void MetricsText::label(std::string_view name, std::string_view value, bool first) {
  out_.append(first ? "{" : ",").append(name).append("=\"");
  while (!value.empty()) {
    const std::size_t size = protocol::utf8_length(value);
    const std::string_view character = value.substr(0, std::max<std::size_t>(size, 1));
    value.remove_prefix(character.size());
    if (size == 0) {
      out_.append(kReplacement);
    } else if (character == "\n") {
      out_.append("\\n");
    } else {
      if (character == "\"" || character == "\\") out_.push_back('\\');
      out_.append(character);
    }
  }
  out_.push_back('"');
}

// With a decimal point, as OpenMetrics requires for the bounds of a histogram.
void MetricsText::number(double value) {
  if (std::isnan(value)) {
    out_.append("NaN");
    return;
  }
  if (std::isinf(value)) {
    out_.append(value > 0 ? "+Inf" : "-Inf");
    return;
  }
  const double size = std::abs(value);
  const bool is_short = value == 0 || (size >= 1e-6 && size < 1e15);
  std::array<char, 64> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value,
                    is_short ? std::chars_format::fixed : std::chars_format::scientific);
  ASSERT(end.ec == std::errc());
  const std::string_view text(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
  out_.append(text);
  if (text.find_first_of(".e") == std::string_view::npos) out_.append(".0");
}

void MetricsText::close(std::int64_t value) {
  out_.append(std::to_string(value)).push_back('\n');
}

}  // namespace seqd
