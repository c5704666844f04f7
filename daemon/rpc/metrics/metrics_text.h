// MetricsText: writes figures in the text formats that Prometheus reads: its own (version 0.0.4)
// and OpenMetrics 1.0. A family is a few samples of one name, distinguished by their labels. Labels
// may hold anything: what is not UTF-8 is replaced, the rest escaped, so that no name can break the
// text or add a sample to it. Pure; one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "daemon/base/time/duration_histogram.h"

namespace seqd {

enum class MetricsFormat : std::uint8_t { prometheus, openmetrics };

// For the header Content-Type.
std::string_view metrics_content_type(MetricsFormat format);
// OpenMetrics if the header Accept names it with a quality that is not below that of plain text.
MetricsFormat metrics_format_for(std::string_view accept);

struct MetricFamily {
  enum class Kind : std::uint8_t { counter, gauge, histogram };
  Kind kind;
  std::string_view name;  // of a counter without "_total"
  std::string_view help;  // one line without quotes and backslashes
};

struct MetricLabel {
  std::string_view name;
  std::string_view value;
};
using MetricLabels = std::initializer_list<MetricLabel>;

class MetricsText {
 public:
  // Appends to `out`, which outlives this.
  MetricsText(std::string& out, MetricsFormat format) : out_(out), format_(format) {}

  // The lines in front of a family's samples, all of which follow it.
  void begin(const MetricFamily& family);
  void sample(const MetricFamily& family, MetricLabels labels, std::int64_t value);
  void sample(const MetricFamily& family, MetricLabels labels, double value);
  // In seconds.
  void histogram(const MetricFamily& family, MetricLabels labels,
                 const DurationHistogram& durations);
  // Behind the last family.
  void end();

 private:
  void open(const MetricFamily& family, std::string_view suffix, MetricLabels labels,
            std::string_view bound = {});
  void label(std::string_view name, std::string_view value, bool first);
  void number(double value);
  void close(std::int64_t value);

  std::string& out_;
  const MetricsFormat format_;
};

}  // namespace seqd
