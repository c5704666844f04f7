#include "client-lib/seqctl/live/latency_report.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {

using nlohmann::json;

TEST_CASE("QuantilesAreTimesThatWereMeasured", "[client]") {
  LatencyReport report;
  for (std::int64_t i = 100; i >= 1; --i) report.add(i * 1'000);
  CHECK(report.quantile(0) == 1'000);
  CHECK(report.quantile(0.5) == 50'000);
  CHECK(report.quantile(0.9) == 90'000);
  CHECK(report.quantile(0.99) == 99'000);
  CHECK(report.quantile(1) == 100'000);
  LatencyReport one;
  one.add(7'000);
  for (const double part : {0.0, 0.5, 0.99, 1.0}) CHECK(one.quantile(part) == 7'000);
  one.add(9'000);  // also behind a look
  CHECK(one.quantile(0.5) == 7'000);
  CHECK(one.quantile(1) == 9'000);
}

TEST_CASE("TheHistogramHasEveryTimeOnce", "[client]") {
  LatencyReport report;
  for (const std::int64_t ns : {999, 1'000, 1'999, 2'000, 49'999, 50'000, 2'000'000'000})
    report.add(ns);
  std::size_t sum = 0;
  const json histogram = report.value()["histogram"];
  for (const json& bucket : histogram) sum += bucket["count"].get<std::size_t>();
  CHECK(sum == 7);
  CHECK(histogram[0] == json{{"from_us", 0}, {"below_us", 1}, {"count", 1}});
  CHECK(histogram[1] == json{{"from_us", 1}, {"below_us", 2}, {"count", 2}});
  CHECK(histogram[2] == json{{"from_us", 2}, {"below_us", 5}, {"count", 1}});
  CHECK(histogram.back() == json{{"from_us", 2'000'000}, {"below_us", 5'000'000}, {"count", 1}});
}

TEST_CASE("TheHistogramIsDrawnInAsciiAndInBlocks", "[client]") {
  LatencyReport report;
  for (int i = 0; i < 16; ++i) report.add(12'000);
  for (int i = 0; i < 4; ++i) report.add(60'000);
  CHECK(report.text(8, false) ==
        "20 pings: min 12.0 us, p50 12.0 us, p90 60.0 us, p99 60.0 us, max 60.0 us\n"
        " 10 ..  20 us  16  ########\n"
        " 20 ..  50 us   0\n"
        " 50 .. 100 us   4  ##\n");
  CHECK(report.text(8, true).find("16  ████████\n") != std::string::npos);
  CHECK(LatencyReport().text(8, true) == "no reply was measured\n");
  CHECK(LatencyReport().value() == json{{"count", 0}});
}

TEST_CASE("ABarShowsWhatThereIsHoweverLittle", "[client]") {
  CHECK(bar(0.01, false) == "#");
  CHECK(bar(0.01, true) == "▏");
  CHECK(bar(1.5, true) == "█▌");
  CHECK(bar(2, true) == "██");
  CHECK(bar(0, true).empty());
  CHECK(bar(0, false).empty());
}

}  // namespace seqd::seqctl
