#include "daemon/rpc/metrics/metrics_page.h"

#include <set>
#include <string>

#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Scraped {
  Scraped() { rates().show(20); }
  SequenceRates& rates() { return service.world.core.table->accounts().rates(); }
  MetricsSource source() {
    return {*service.world.core.table, service.world.control, *service.world.server,
            service.world.core.time, service.world.queues.get()};
  }
  void step() {
    service.world.core.time.advance(1'000);
    service.world.settle();
    service.world.core.table->accounts().sample_rates(service.world.core.time.monotonic_ms(),
                                                      service.world.core.table->blocks().ids());
  }
  std::string text(MetricsFormat format = MetricsFormat::prometheus) {
    MetricsPage page(source(), format);
    std::string out;
    while (page.more(out)) {
    }
    return out;
  }
  // The value of a sample, as text; empty: there is none.
  std::string value(const std::string& sample) {
    const std::string all = "\n" + text();
    const std::size_t at = all.find("\n" + sample + " ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + sample.size() + 2;
    return all.substr(begin, all.find('\n', begin) - begin);
  }
  Service service;
};

TEST_CASE("MetricsPage: what was asked for is counted by method, and errors by code", "[metrics]") {
  Scraped here;
  for (std::uint32_t at = 0; at < 3; ++at)
    static_cast<void>(here.service.ask(next_request(at, "orders")));
  static_cast<void>(here.service.ask(range_request(5, "orders", 7)));
  static_cast<void>(here.service.ask(plain_request(6, "ping")));
  static_cast<void>(here.service.ask(plain_request(7, "no_such_method")));
  static_cast<void>(here.service.ask(next_request(8, "nosuch")));
  static_cast<void>(here.service.ask(request("peek", 0, "")));
  CHECK(here.value("seqd_requests_total{method=\"next\"}") == "4");
  CHECK(here.value("seqd_requests_total{method=\"range\"}") == "1");
  CHECK(here.value("seqd_requests_total{method=\"ping\"}") == "1");
  CHECK(here.value("seqd_requests_total{method=\"unknown\"}") == "1");
  CHECK(here.value("seqd_requests_total{method=\"status\"}") == "0");
  CHECK(here.value("seqd_requests_refused_total{code=\"NO_SEQUENCE\"}") == "1");
  CHECK(here.value("seqd_requests_refused_total{code=\"NO_METHOD\"}") == "1");
  CHECK(here.value("seqd_requests_refused_total{code=\"BAD_REQUEST\"}") == "1");
  CHECK(here.value("seqd_requests_refused_total{code=\"BUSY\"}") == "0");
  CHECK(here.value("seqd_ids_issued_total") == "10");
  CHECK(here.value("seqd_connections") == "1");
  CHECK(here.value("seqd_sequences") == "1");
  // `status` counts the same.
  const auto status = map_of(here.service.ask(plain_request(9, "status")));
  CHECK(status.at("requests") == "9");
  CHECK(status.at("issued") == "10");
}

TEST_CASE("MetricsPage: sequences are named with their rates and runways", "[metrics]") {
  Scraped here;
  here.step();
  static_cast<void>(here.service.ask(range_request(1, "orders", 8)));
  CHECK(here.value("seqd_sequence_issued_ids_total{sequence=\"orders\"}").empty());
  here.step();
  const std::int64_t available = here.service.world.core.sequence("orders").available();
  REQUIRE(available > 0);
  CHECK(here.value("seqd_sequence_available_ids{sequence=\"orders\"}") ==
        std::to_string(available));
  CHECK(here.value("seqd_sequence_issued_ids_total{sequence=\"orders\"}") == "8");
  const std::string runway = here.value("seqd_runway_seconds");
  REQUIRE_FALSE(runway.empty());
  CHECK(std::stod(runway) == Approx(static_cast<double>(available) / 8).margin(0.01));
  CHECK(here.value("seqd_sequence_runway_seconds{sequence=\"orders\"}") == runway);
  CHECK(here.value("seqd_sequence_available_ids{sequence=\"(others)\"}") == "0");
  const auto status = map_of(here.service.ask(plain_request(9, "status")));
  CHECK(status.at("runway_sequence") == "orders");
  CHECK(std::stod(status.at("runway_ms")) == Approx(std::stod(runway) * 1'000));
}

TEST_CASE("MetricsPage: IDs that are out in blocks", "[metrics]") {
  Scraped here;
  here.step();
  static_cast<void>(here.service.ask(range_request(1, "orders", 8)));
  CHECK(here.value("seqd_out_ids") == "0");
  CoreWorld& core = here.service.world.core;
  core.settings.by_name.at("orders").blocks = true;
  const ClientId client = core.table->replays().attach(Token{1}, 1'000)->client;
  REQUIRE(core.table->blocks().prepare_grant(client, 1'000).ok());
  REQUIRE(core.sequence("orders").grant_block({5, 1, client, 1'000}, 0, 2).ok());
  core.turn();
  here.step();
  CHECK(here.value("seqd_out_ids") == "2");
  CHECK(here.value("seqd_sequence_out_ids{sequence=\"orders\"}") == "2");
  CHECK(here.value("seqd_sequence_out_ids{sequence=\"(others)\"}") == "0");
  core.table->blocks().end_client(client);
  core.turn();
  CHECK(here.value("seqd_out_ids") == "0");
}

TEST_CASE("MetricsPage: stores have their state and their leases", "[metrics]") {
  Scraped here;
  LeaseFigures figures;
  figures.count(LeaseResult::granted);
  figures.durations.add(300);
  DaemonFacts& facts = here.service.world.control.now;
  facts.stores = {{"main", "sqlite", "ready", "", "", &figures},
                  {"a\"b", "mongodb", "down", "UNAVAILABLE: away", "", nullptr},
                  {"new", "mongodb", "waiting", "", "", nullptr},
                  {"never", "mongodb", "waiting", "UNAVAILABLE: away", "", nullptr}};
  CHECK(here.value("seqd_store_up{store=\"main\"}") == "1");
  CHECK(here.value("seqd_store_up{store=\"a\\\"b\"}") == "0");
  CHECK(here.value("seqd_store_up{store=\"new\"}") == "1");
  // Since the start it has not answered, so nothing of it may be issued.
  CHECK(here.value("seqd_store_up{store=\"never\"}") == "0");
  CHECK(here.value("seqd_leases_total{store=\"main\",outcome=\"granted\"}") == "1");
  CHECK(here.value("seqd_leases_total{store=\"main\",outcome=\"unknown\"}") == "0");
  CHECK(here.value("seqd_lease_duration_seconds_count{store=\"main\"}") == "1");
  CHECK(here.value("seqd_lease_duration_seconds_sum{store=\"main\"}") == "0.0003");
}

TEST_CASE("MetricsPage: sequences that end, and those that have ended", "[metrics]") {
  Scraped here;
  SequenceSettings& few = here.service.world.core.settings.add("few");
  few.max_value = 3;
  static_cast<void>(here.service.ask(next_request(1, "orders")));
  CHECK(here.value("seqd_ending_sequences") == "0");
  static_cast<void>(here.service.ask(range_request(2, "few", 3)));
  CHECK(here.value("seqd_ending_sequences") == "1");
  CHECK(here.service.code(next_request(3, "few")) == ErrorCode::EXHAUSTED);
  CHECK(here.value("seqd_stopped_sequences") == "1");
  here.service.world.core.sequence("orders").set_stopped(
      {StopCause::regressed, {ErrorCode::SEQ_REGRESSED, "set back"}});
  here.service.world.settle();
  CHECK(here.value("seqd_stopped_sequences") == "2");
  // Of what is not there any more nothing is counted, nor twice after a start.
  here.service.world.kill();
  here.service.world.lines.clear();
  here.service.world.start();
  here.service.world.settle();
  CHECK(here.value("seqd_stopped_sequences") == "0");
  CHECK(here.value("seqd_ending_sequences") == "1");
}

TEST_CASE("MetricsPage: it comes in pieces, whatever there is", "[metrics]") {
  constexpr int kSequences = 150;
  Scraped here;
  here.rates().show(kSequences);
  here.step();
  for (int at = 0; at < kSequences; ++at) {
    const std::string name = "sequence-with-a-longer-name-" + std::to_string(at);
    here.service.world.core.settings.add(name);
    static_cast<void>(here.service.ask(next_request(1, name)));
  }
  here.step();
  MetricsPage page(here.source(), MetricsFormat::openmetrics);
  std::string all;
  std::size_t pieces = 0;
  for (bool more = true; more;) {
    std::string piece;
    more = page.more(piece);
    CHECK(piece.size() <= MetricsPage::kPieceBytes + 4'096);
    all += piece;
    ++pieces;
  }
  CHECK(pieces >= all.size() / (MetricsPage::kPieceBytes + 4'096));
  CHECK(all.ends_with("\n# EOF\n"));
  // A family stands in one place, and every line once.
  std::set<std::string> lines;
  std::set<std::string> types;
  std::size_t begin = 0;
  while (begin < all.size()) {
    const std::size_t end = all.find('\n', begin);
    const std::string line = all.substr(begin, end - begin);
    INFO(line);
    CHECK(lines.insert(line).second);
    if (line.starts_with("# TYPE")) CHECK(types.insert(line).second);
    begin = end + 1;
  }
  for (int at = 0; at < kSequences; ++at) {
    CHECK(all.find("{sequence=\"sequence-with-a-longer-name-" + std::to_string(at) + "\"} 1\n") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace seqd
