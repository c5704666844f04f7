#include "daemon/rpc/metrics/metrics_text.h"

#include <limits>
#include <string>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace std::string_literals;

constexpr MetricFamily kTaken{MetricFamily::Kind::counter, "taken", "What was taken."};
constexpr MetricFamily kLeft{MetricFamily::Kind::gauge, "left", "What is left."};
constexpr MetricFamily kTook{MetricFamily::Kind::histogram, "took_seconds", "How long."};

std::string sample_of(std::string_view value) {
  std::string out;
  MetricsText(out, MetricsFormat::prometheus).sample(kLeft, {{"of", value}}, std::int64_t{1});
  return out;
}

std::string number_of(double value) {
  std::string out;
  MetricsText(out, MetricsFormat::prometheus).sample(kLeft, {}, value);
  return out;
}

TEST_CASE("MetricsText: the formats differ in the family of a counter and the end", "[metrics]") {
  for (const MetricsFormat format : {MetricsFormat::prometheus, MetricsFormat::openmetrics}) {
    const bool open = format == MetricsFormat::openmetrics;
    std::string out;
    MetricsText text(out, format);
    text.begin(kTaken);
    text.sample(kTaken, {{"a", "1"}, {"b", "2"}}, std::int64_t{-7});
    text.begin(kLeft);
    text.sample(kLeft, {}, 0.5);
    text.end();
    const std::string family = open ? "taken" : "taken_total";
    CHECK(out == "# HELP " + family + " What was taken.\n# TYPE " + family +
                     " counter\ntaken_total{a=\"1\",b=\"2\"} -7\n"
                     "# HELP left What is left.\n# TYPE left gauge\nleft 0.5\n" +
                     (open ? "# EOF\n" : ""));
  }
}

TEST_CASE("MetricsText: no label can end itself or add a line", "[metrics]") {
  CHECK(sample_of("plain-name.1@2026") == "left{of=\"plain-name.1@2026\"} 1\n");
  CHECK(sample_of("") == "left{of=\"\"} 1\n");
  CHECK(sample_of("a\"} 9\nleft 8") == "left{of=\"a\\\"} 9\\nleft 8\"} 1\n");
  CHECK(sample_of("back\\slash\\") == "left{of=\"back\\\\slash\\\\\"} 1\n");
  CHECK(sample_of("\xc3\xa9\xe2\x82\xac") == "left{of=\"\xc3\xa9\xe2\x82\xac\"} 1\n");
  // Each byte that belongs to no character: Prometheus refuses a whole text for one of them.
  CHECK(sample_of("\xff"
                  "a\xc3") ==
        "left{of=\"\xef\xbf\xbd"
        "a\xef\xbf\xbd\"} 1\n");
  CHECK(sample_of("\xed\xa0\x80") ==
        "left{of=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"} 1\n");  // a surrogate
  CHECK(sample_of("a\0b"s) == "left{of=\"a\0b\"} 1\n"s);
}

TEST_CASE("MetricsText: numbers are written so that they are read as they are", "[metrics]") {
  CHECK(number_of(0) == "left 0.0\n");
  CHECK(number_of(12) == "left 12.0\n");
  CHECK(number_of(0.1) == "left 0.1\n");
  CHECK(number_of(0.0001) == "left 0.0001\n");
  CHECK(number_of(123456789012) == "left 123456789012.0\n");
  CHECK(number_of(-2.5e-9) == "left -2.5e-09\n");
  CHECK(number_of(1e300) == "left 1e+300\n");
  CHECK(number_of(std::numeric_limits<double>::infinity()) == "left +Inf\n");
  CHECK(number_of(-std::numeric_limits<double>::infinity()) == "left -Inf\n");
  CHECK(number_of(std::numeric_limits<double>::quiet_NaN()) == "left NaN\n");
}

TEST_CASE("MetricsText: a histogram is cumulative and ends with all", "[metrics]") {
  DurationHistogram durations;
  for (const std::int64_t us : {50, 200, 200, 2'000'000, 60'000'000}) durations.add(us);
  std::string out;
  MetricsText text(out, MetricsFormat::openmetrics);
  text.histogram(kTook, {{"store", "main"}}, durations);
  CHECK(
      out.starts_with("took_seconds_bucket{store=\"main\",le=\"0.0001\"} 1\n"
                      "took_seconds_bucket{store=\"main\",le=\"0.00025\"} 3\n"));
  CHECK(out.find("le=\"1.0\"} 3\n") != std::string::npos);
  CHECK(out.find("le=\"2.5\"} 4\n") != std::string::npos);
  CHECK(
      out.ends_with("took_seconds_bucket{store=\"main\",le=\"10.0\"} 4\n"
                    "took_seconds_bucket{store=\"main\",le=\"+Inf\"} 5\n"
                    "took_seconds_sum{store=\"main\"} 62.00045\n"
                    "took_seconds_count{store=\"main\"} 5\n"));
}

TEST_CASE("MetricsText: OpenMetrics is written for those who ask for it", "[metrics]") {
  for (const char* const accept :
       {"application/openmetrics-text", "text/plain;q=0.5, application/openmetrics-text",
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
        "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        " application/openmetrics-text ; q=0.1 "}) {
    INFO(accept);
    CHECK(metrics_format_for(accept) == MetricsFormat::openmetrics);
  }
  for (const char* const accept :
       {"", "*/*", "text/plain", "text/html", "application/openmetrics-text;q=0",
        "text/plain, application/openmetrics-text;q=0.9", "application/openmetrics-text;q=x",
        "application/openmetrics-text;q=2", "application/openmetrics-textual", ",,;;=,q=1",
        "application/openmetrics-text;q=nan"}) {
    INFO(accept);
    CHECK(metrics_format_for(accept) == MetricsFormat::prometheus);
  }
}

}  // namespace
}  // namespace seqd
