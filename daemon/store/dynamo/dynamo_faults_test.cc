// What networks, balancers and the service itself do to a DynamoDB store, between it and the real
// DynamoDB Local: no ID is granted twice, and none is lost where tokens are kept.
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/adapters/dynamo/dynamo_faults.h"

namespace seqd {
namespace {

using namespace testing;
using Fault = HttpFault::Kind;
using Kind = LeaseOutcome::Kind;

// As the core does it: asks until the outcome is known. None: nothing was granted. An empty span,
// which nobody takes for a good one: it is never known. For many threads, so without assertions.
std::optional<LeasedSpan> take(BlockingStore& store, const LeaseRequest& request) {
  const LeaseOutcome outcome = store.lease(request);
  if (outcome.kind == Kind::granted) return LeasedSpan{outcome.begin, outcome.end};
  if (outcome.kind == Kind::refused) return std::nullopt;
  for (int tries = 0; tries < 100; ++tries) {
    const Resolution found = store.resolve(request);
    if (found.kind == Resolution::Kind::granted) return LeasedSpan{found.begin, found.end};
    if (found.kind == Resolution::Kind::absent) return std::nullopt;
    if (found.kind != Resolution::Kind::failed) break;
  }
  return LeasedSpan{};
}

TEST_CASE("DynamoFaults: an applied lease whose answer was lost is found again", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  const auto request = slot_request();
  claim(*store, request);
  require_granted(store->lease(request), 1, 11);
  const std::string unavailable = "<html>unavailable</html>";
  const HttpFault trouble = GENERATE_COPY(
      fault(Fault::reply_late), fault(Fault::cut_reply), HttpFault{Fault::say_applied, 200, "{"},
      HttpFault{Fault::say_applied, 200, "[]"}, HttpFault{Fault::say_applied, 502, unavailable},
      HttpFault{Fault::say_applied, 400, unavailable}, HttpFault{Fault::say_applied, 307, ""},
      HttpFault{Fault::say_applied, 500, dynamo_error("InternalServerError", "try again")},
      HttpFault{Fault::say_applied, 503, dynamo_error("ServiceUnavailable", "try again")},
      HttpFault{Fault::say_applied, 200, R"({"Attributes": {"seq": {"N": "0.5"}}})"},
      HttpFault{Fault::say_applied, 200, R"({"Attributes": {"seq": {"N": "4"}}})"},
      HttpFault{Fault::say_applied, 200, "{}"});
  faults.proxy.plan(kUpdate, {trouble});
  auto next = request;
  next.token = random_token(LeaseTrace::slot);
  next.high_water = 11;
  const bool waits = trouble.kind == Fault::reply_late;
  const LeaseOutcome outcome = waits ? faults.open(4'000)->lease(next) : store->lease(next);
  INFO(trouble.status << " " << trouble.body << ": " << outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::unknown);
  REQUIRE(outcome.error.text().size() > 20);
  const Resolution found = store->resolve(next);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE(found.begin == 11);
  REQUIRE(found.end == 21);
  REQUIRE(faults.server.number("orders") == 20);
}

TEST_CASE("DynamoFaults: a lost answer or request costs no ID, whoever sends it again",
          "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  const Fault kind = GENERATE(Fault::lose_reply, Fault::lose_request, Fault::twice);
  std::vector<LeasedSpan> spans;
  for (int i = 0; i < 12; ++i) {
    request.token = random_token(LeaseTrace::slot);
    faults.proxy.plan(kUpdate, {fault(i % 2 == 0 ? kind : Fault::none)});
    if (const auto span = take(*store, request)) {
      spans.push_back(*span);
      request.high_water = span->end;
    }
  }
  REQUIRE(spans.size() >= 6);
  require_exactly(spans, 1, faults.server.number("orders") + 1);
}

TEST_CASE(
    "DynamoFaults: a lease that never arrived is void, and moves nothing when it arrives late",
    "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  const bool counter_is_there = GENERATE(true, false);
  if (counter_is_there) require_granted(store->lease(request), 1, 11);
  const std::int64_t before = faults.server.number("orders");
  auto late = request;
  late.token = random_token(LeaseTrace::slot);
  // Where there is no counter, what is held up is its making.
  faults.proxy.plan(kUpdate, {fault(Fault::hold_request)});
  const LeaseOutcome outcome = faults.open(4'000)->lease(late);
  REQUIRE(outcome.kind == (counter_is_there ? Kind::unknown : Kind::refused));
  REQUIRE(store->resolve(late).kind == Resolution::Kind::absent);
  const bool more = GENERATE(false, true);
  const std::int64_t first = std::max<std::int64_t>(before, 0) + 1;
  if (more) {
    request.token = random_token(LeaseTrace::slot);
    require_granted(store->lease(request), first, first + 10);
  }
  faults.proxy.release();
  REQUIRE(faults.server.number("orders") == first - 1 + (more ? 10 : 0));
  if (!more) require_refused(store->lease(late), ErrorCode::STORE_REFUSED);
  request.token = random_token(LeaseTrace::slot);
  const std::int64_t next = first + (more ? 10 : 0);
  require_granted(store->lease(request), next, next + 10);
}

TEST_CASE("DynamoFaults: throttling refuses at once, moves nothing and is asked once", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  require_granted(store->lease(request), 1, 11);
  const std::string type = GENERATE("ProvisionedThroughputExceededException", "ThrottlingException",
                                    "RequestLimitExceeded", "TransactionConflictException");
  const int before = faults.proxy.seen(kUpdate);
  faults.proxy.plan(kUpdate, {says(400, dynamo_error(type, "Rate exceeded"))});
  request.token = random_token(LeaseTrace::slot);
  const LeaseOutcome outcome = store->lease(request);
  require_refused(outcome, ErrorCode::UNAVAILABLE);
  REQUIRE(outcome.error.text().find(type) != std::string::npos);
  REQUIRE(faults.proxy.seen(kUpdate) == before + 1);
  REQUIRE(faults.server.number("orders") == 10);
  request.token = random_token(LeaseTrace::slot);
  require_granted(store->lease(request), 11, 21);
}

TEST_CASE("DynamoFaults: without tokens an unknown outcome is a gap, and never a second grant",
          "[dynamo]") {
  DynamoFaults faults(true);
  auto store = faults.open();
  auto request = lease_request("orders", 10);
  require_granted(store->lease(request), 1, 11);
  const Fault kind = GENERATE(Fault::lose_reply, Fault::reply_late);
  faults.proxy.plan(kUpdate, {fault(kind)});
  request.token = random_token();
  if (kind == Fault::reply_late) store = faults.open(4'000);
  REQUIRE(store->lease(request).kind == Kind::unknown);  // and not sent again by itself
  store = faults.open();
  REQUIRE(store->resolve(request).kind == Resolution::Kind::untraceable);
  REQUIRE(faults.server.number("orders") == 20);
  request.token = random_token();
  request.high_water = 11;
  require_granted(store->lease(request), 21, 31);
}

TEST_CASE("DynamoFaults: a plain lease is not sent where the heartbeat cannot be compared",
          "[dynamo]") {
  DynamoFaults faults(true);
  auto store = faults.open();
  auto request = lease_request("orders", 10);
  claim(*store, request);
  const auto beat = store->beat({request.instance, 0, true});
  REQUIRE((beat.ok() && beat->beat == 1));
  request.heartbeat = 1;
  require_granted(store->lease(request), 1, 11);
  request.token = random_token();
  const HttpFault trouble = says(500, dynamo_error("InternalServerError", "try again"));
  faults.proxy.plan("GetItem", {trouble});
  require_refused(store->lease(request), ErrorCode::UNAVAILABLE);
  request.heartbeat = 2;
  const LeaseOutcome older = store->lease(request);
  REQUIRE(older.kind == Kind::refused);
  REQUIRE(older.restored);
  REQUIRE(faults.server.number("orders") == 10);
}

TEST_CASE("DynamoFaults: a comparison that failed behind a lease is made by its look-up",
          "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  claim(*store, request);
  const auto beat = store->beat({request.instance, 0, true});
  REQUIRE((beat.ok() && beat->beat == 1));
  request.heartbeat = 1;
  require_granted(store->lease(request), 1, 11);
  const HttpFault trouble = says(500, dynamo_error("InternalServerError", "try again"));
  request.token = random_token(LeaseTrace::slot);
  request.high_water = 11;
  faults.proxy.plan("GetItem", {trouble});  // the lease slot is known: only the heartbeat is read
  REQUIRE(store->lease(request).kind == Kind::unknown);
  // The counter is read, and the heartbeat is not.
  faults.proxy.plan("GetItem", {fault(Fault::none), trouble});
  REQUIRE(store->resolve(request).kind == Resolution::Kind::failed);
  const Resolution found = store->resolve(request);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE((found.begin == 11 && found.end == 21));
}

TEST_CASE("DynamoFaults: a plain lease whose comparison failed behind it is kept until one is made",
          "[dynamo]") {
  DynamoFaults faults(true);
  auto store = faults.open();
  auto request = lease_request("orders", 10);
  claim(*store, request);
  const auto beat = store->beat({request.instance, 0, true});
  REQUIRE((beat.ok() && beat->beat == 1));
  request.heartbeat = 1;
  const HttpFault trouble = says(500, dynamo_error("InternalServerError", "try again"));
  require_granted(store->lease(request), 1, 11);
  request.token = random_token();
  // The heartbeat, the counter, and the heartbeat again.
  faults.proxy.plan("GetItem", {fault(Fault::none), fault(Fault::none), trouble, trouble});
  REQUIRE(store->lease(request).kind == Kind::unknown);
  REQUIRE(store->resolve(request).kind == Resolution::Kind::failed);
  const Resolution found = store->resolve(request);
  REQUIRE(found.kind == Resolution::Kind::granted);
  REQUIRE((found.begin == 11 && found.end == 21));
}

TEST_CASE("DynamoFaults: a return whose answer was lost is applied once, and known", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  const auto lease = slot_request();
  require_granted(store->lease(lease), 1, 11);
  ReturnRequest back{.binding = lease.binding,
                     .token = random_token(LeaseTrace::slot),
                     .instance = lease.instance,
                     .sequence = lease.sequence,
                     .begin = 4,
                     .end = 11,
                     .reuse = GENERATE(Reuse::tail, Reuse::parked)};
  const std::int64_t after = back.reuse == Reuse::tail ? 3 : 10;
  SECTION("applied") {
    faults.proxy.plan(kUpdate, {fault(Fault::reply_late)});
    REQUIRE(faults.open(4'000)->return_range(back).kind == ReturnOutcome::Kind::failed);
    back.give_up = GENERATE(false, true);
    REQUIRE(store->return_range(back).kind == ReturnOutcome::Kind::returned);
    REQUIRE(faults.server.number("orders") == after);
  }
  SECTION("given up, and delivered late") {
    faults.proxy.plan(kUpdate, {fault(Fault::hold_request)});
    REQUIRE(faults.open(4'000)->return_range(back).kind == ReturnOutcome::Kind::failed);
    back.give_up = true;
    REQUIRE(store->return_range(back).kind == ReturnOutcome::Kind::kept);
    const std::string item = faults.server.item("orders");
    faults.proxy.release();
    REQUIRE(faults.server.item("orders") == item);
    REQUIRE(faults.server.number("orders") == 10);
  }
}

TEST_CASE("DynamoFaults: a claim whose answer was lost is won by its nonce", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  const ClaimRequest request{.instance = random_token(), .epoch = 0, .nonce = random_token()};
  faults.proxy.plan(kUpdate, {fault(Fault::reply_late)});
  REQUIRE_FALSE(faults.open(4'000)->claim(request).ok());
  REQUIRE(*store->claim(request) == ClaimOutcome::won);
}

TEST_CASE("DynamoFaults: reads that fail change nothing and are told", "[dynamo]") {
  DynamoFaults faults;
  auto store = faults.open();
  auto request = slot_request();
  const HttpFault trouble =
      GENERATE_COPY(says(500, "{}"), says(200, R"({"Item": {"seq": 5}})"), says(200, "null"),
                    says(400, dynamo_error("ThrottlingException", "slow down")));
  faults.proxy.plan("GetItem", {trouble, trouble});
  REQUIRE_FALSE(store->read({.binding = request.binding, .instance = {}}).ok());
  const LeaseOutcome outcome = store->lease(request);
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(faults.server.number("orders") == -1);
}

TEST_CASE("DynamoFaults: hosts under every fault at once lose no ID", "[dynamo]") {
  DynamoFaults faults;
  constexpr int kHosts = 3;
  constexpr int kLeases = 40;
  std::mt19937 random(20261121);
  std::vector<HttpFault> plan;
  for (int i = 0; i < kHosts * kLeases; ++i) {
    switch (random() % 8) {
      case 0:
        plan.push_back(fault(Fault::lose_reply));
        break;
      case 1:
        plan.push_back(fault(Fault::lose_request));
        break;
      case 2:
        plan.push_back(fault(Fault::twice));
        break;
      case 3:
        plan.push_back(fault(Fault::cut_reply));
        break;
      case 4:
        plan.push_back(says(400, dynamo_error("ThrottlingException", "slow down")));
        break;
      case 5:
        plan.push_back({Fault::say_applied, 500, dynamo_error("InternalServerError", "perhaps")});
        break;
      default:
        plan.push_back(fault(Fault::none));
        break;
    }
  }
  std::mutex mutex;
  std::vector<LeasedSpan> spans;
  std::vector<std::unique_ptr<DynamoHandle>> hosts;
  for (int host = 0; host < kHosts; ++host) hosts.push_back(faults.open());
  std::vector<LeaseRequest> requests(kHosts, slot_request());
  for (int host = 0; host < kHosts; ++host) {
    requests[static_cast<std::size_t>(host)].instance.fill(static_cast<std::uint8_t>(host + 1));
    claim(*hosts[static_cast<std::size_t>(host)], requests[static_cast<std::size_t>(host)]);
  }
  faults.proxy.plan(kUpdate, plan);
  race(kHosts, [&](int host) {
    LeaseRequest request = requests[static_cast<std::size_t>(host)];
    for (int n = 0; n < kLeases; ++n) {
      request.token = random_token(LeaseTrace::slot);
      request.count = 1 + n % 7;
      const auto span = take(*hosts[static_cast<std::size_t>(host)], request);
      if (!span) continue;
      request.high_water = span->end;
      const std::lock_guard lock(mutex);
      spans.push_back(*span);
    }
  });
  REQUIRE(spans.size() > kHosts * kLeases / 2);
  require_exactly(spans, 1, faults.server.number("orders") + 1);
}

}  // namespace
}  // namespace seqd
