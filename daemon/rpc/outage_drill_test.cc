// An outage drill: ten minutes without the store, minute by minute. What callers get, and what
// `list`, the metrics and the journal say of it at the same moment, have to agree.
#include <algorithm>
#include <string>

#include "daemon/core/leasing/measured_store.h"
#include "daemon/core/upkeep/runway_watch.h"
#include "daemon/rpc/metrics/metrics_page.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Lease = ScriptedStore::LeaseScript;

constexpr std::int64_t kTimeoutMs = 10'000;  // of a call to the store
constexpr std::int64_t kWaitMs = 5'000;      // of a request
constexpr int kMinutes = 10;

enum class Asks : std::uint8_t { next, range, text };

struct MilliClock final : FineClock {
  explicit MilliClock(const VirtualTime& virtual_time) : time(virtual_time) {}
  std::int64_t monotonic_us() const override { return time.monotonic_ms() * 1'000; }
  const VirtualTime& time;
};

struct Drill {
  explicit Drill(Asks kind) : asks(kind) {
    world.core.stores = {{"default", &measured}};
    SequenceSettings& orders = world.core.settings.add("orders");
    orders.wait_timeout_ms = kWaitMs;
    orders.lease_min = orders.lease_max = 1'007;  // ranges of ten leave some
    world.start();
    world.settle();
    world.core.table->accounts().rates().show(20);
    line = &world.connect();
  }

  // A program that asks each second, whatever it gets.
  void ask() {
    const std::uint32_t id = ++number;
    if (asks == Asks::next) world.send(*line, next_request(id, "orders"));
    if (asks == Asks::range) world.send(*line, range_request(id, "orders", 10));
    if (asks == Asks::text) world.send(*line, request("next_text", "orders"));
  }
  void second() {
    if (asking) ask();
    world.core.time.advance(1'000);
    if (store_is_away) {
      world.core.store.leases.assign(1, away);
      world.core.store.resolutions.assign(4, {ScriptedStore::ResolveScript::Kind::failed});
    }
    world.settle();
    // What the daemon does in its tick.
    world.core.table->scopes().note_silence("default", measured.silent_ms());
    world.core.table->accounts().sample_rates(world.core.time.monotonic_ms(), 0);
    watch.check(*world.core.table, world.core.events);
    world.settle();
    for (const Reply& reply : line->replies()) {
      last_failed = reply.code != ErrorCode::OK;
      ++(last_failed ? failed : served);
    }
  }
  void minute() {
    served = failed = 0;
    for (int at = 0; at < 60; ++at) second();
  }
  void restore_store() {
    store_is_away = false;
    world.core.store.leases.clear();
    world.core.store.resolutions.clear();
    while (world.core.store.deliver_late()) world.settle();
  }

  std::string value(const std::string& sample) {
    const StoreScope& scope = *world.core.table->scopes().find("default");
    world.control.now.stores = {{"default", "mongodb", scope.state_name(),
                                 scope.last_error().ok() ? "" : scope.last_error().to_string(), "",
                                 &measured.figures()}};
    MetricsPage page({*world.core.table, world.control, *world.server, world.core.time, nullptr},
                     MetricsFormat::prometheus);
    std::string all = "\n";
    while (page.more(all)) {
    }
    const std::size_t at = all.find("\n" + sample + " ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + sample.size() + 2;
    return all.substr(begin, all.find('\n', begin) - begin);
  }
  Sequence& orders() { return world.core.sequence("orders"); }
  // What operators are told, and what SeqdNoIdsLeft and SeqdRunwayShort are made of.
  void check_agrees() {
    INFO("served " << served << ", failed " << failed << ", state " << state_name(orders()));
    CHECK((state_name(orders()) == "stopped") == last_failed);
    CHECK(value("seqd_stopped_sequences") == (last_failed ? "1" : "0"));
    CHECK(value("seqd_store_up{store=\"default\"}") == (last_failed ? "0" : "1"));
    CHECK(request_error(orders()).ok() == !last_failed);
    if (last_failed) CHECK(std::stod(value("seqd_runway_seconds")) == 0);
  }

  RpcWorld world;
  MilliClock clock{world.core.time};
  MeasuredStore measured{world.core.store, clock, kTimeoutMs};
  RunwayWatch watch;
  const Asks asks;
  bool asking = true;
  bool store_is_away = false;
  Lease away{Lease::Kind::refuse};
  Line* line = nullptr;
  std::uint32_t number = 0;
  int served = 0, failed = 0;
  bool last_failed = false;
};

void drill(Asks asks) {
  Drill here(asks);
  for (int at = 0; at < 3; ++at) here.minute();
  REQUIRE((here.failed == 0 && here.served > 50));
  here.check_agrees();
  here.store_is_away = true;
  while (!here.last_failed) here.second();
  REQUIRE(here.orders().available() < 10);
  for (int at = 0; at < kMinutes; ++at) {
    here.minute();
    REQUIRE((here.served == 0 && here.failed > 50));
    here.check_agrees();
  }
  CHECK(here.world.core.events.count(EventKind::runway_short) == 1);
  CHECK(here.world.core.events.count(EventKind::store_down) == 1);
  here.restore_store();
  here.minute();
  here.minute();
  REQUIRE((here.failed == 0 && here.served > 50));
  here.check_agrees();
}

TEST_CASE("OutageDrill: callers of next, and what is said of them, agree", "[outage_drill]") {
  drill(Asks::next);
}

// The remainder is smaller than what is asked for: it is no IDs at all.
TEST_CASE("OutageDrill: callers of range, and what is said of them, agree", "[outage_drill]") {
  drill(Asks::range);
}

TEST_CASE("OutageDrill: callers of texts, and what is said of them, agree", "[outage_drill]") {
  drill(Asks::text);
}

TEST_CASE("OutageDrill: who failed is not ready until as many IDs are there", "[outage_drill]") {
  Drill here(Asks::range);
  here.minute();
  here.store_is_away = true;
  while (!here.last_failed) here.second();
  // No requests arrive any more: they are sent elsewhere, since this host is not ready.
  here.asking = false;
  for (int at = 0; at < kMinutes + 2; ++at) {
    here.minute();
    here.check_agrees();
  }
  here.restore_store();
  here.minute();
  here.last_failed = false;
  here.check_agrees();
  CHECK(here.orders().available() >= 10);
  here.asking = true;
  here.minute();
  CHECK((here.failed == 0 && here.served > 50));
}

// The connection stands, and nothing comes: the driver notices it after its own time, or never.
TEST_CASE("OutageDrill: a store that hangs is down when its time is over", "[outage_drill]") {
  Drill here(Asks::range);
  here.minute();
  here.away.late = true;
  here.store_is_away = true;
  int seconds = 0;
  while (here.measured.figures().ended.at(0) > 0 && here.orders().available() > 500) here.second();
  for (; here.value("seqd_store_up{store=\"default\"}") == "1"; ++seconds) {
    REQUIRE(seconds < 600);
    here.second();
  }
  CHECK(request_error(here.orders()).text().find("has not answered within its timeout") !=
        std::string::npos);
  CHECK(here.world.core.events.count(EventKind::store_down) == 1);
  while (!here.last_failed) here.second();
  for (int at = 0; at < kMinutes; ++at) {
    here.minute();
    here.check_agrees();
  }
  here.restore_store();
  here.minute();
  here.minute();
  here.check_agrees();
  CHECK(here.world.core.events.count(EventKind::store_up) == 1);
}

TEST_CASE("OutageDrill: a request that does not wait is a caller, too", "[outage_drill]") {
  Drill here(Asks::next);
  here.world.core.store.leases = {here.away};
  CHECK(here.world.ask(*here.line, next_request(1, "orders", 0)).code == ErrorCode::UNAVAILABLE);
  CHECK(state_name(here.orders()) == "stopped");
  CHECK(here.value("seqd_stopped_sequences") == "1");
  here.asking = false;
  here.minute();
  CHECK(state_name(here.orders()) == "ready");
  CHECK(here.value("seqd_stopped_sequences") == "0");
}

}  // namespace
}  // namespace seqd
