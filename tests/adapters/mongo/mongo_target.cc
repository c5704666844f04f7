#include "tests/adapters/mongo/mongo_target.h"

#include <fmt/format.h>

#include <chrono>

#include "tests/adapters/in_time.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

MongoTarget::MongoTarget(const MongoPlace& place, const char* purpose)
    : server(place.variable),
      name(fmt::format("{}-{}", purpose, server.database())),
      trace_(place.trace),
      options_(server.options()) {
  options_.uri = with_uri_option(options_.uri, "appName=" + name);
  options_.lease_mode = place.mode;
  reopen();
  const LeaseRequest request = lease_request("orders", 1);
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(300);
  while (true) {
    const auto claimed =
        store->claim({.instance = request.instance, .epoch = 0, .nonce = request.token});
    if (claimed.ok()) {
      REQUIRE(*claimed == ClaimOutcome::won);
      return;
    }
    INFO(claimed.status().to_string());
    REQUIRE_IN_TIME(std::chrono::steady_clock::now() < late);  // a busy machine
  }
}

void MongoTarget::reopen(int timeout_ms) {
  options_.timeout_ms = timeout_ms;
  store = open_mongo_store(options_);
}

Token MongoTarget::new_token(Random& random) const {
  return trace_ == LeaseTrace::transaction ? new_lease_token(random, trace_)
                                           : store->new_token(random, CounterBinding());
}

std::string MongoTarget::failure(const std::string& what) const {
  return fmt::format(
      R"({{"failCommands": ["findAndModify", "commitTransaction"], "appName": "{}", {}}})", name,
      what);
}

void MongoTarget::wait_until_idle() {
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(300);
  while (true) {
    const Document reply = server.admin(fmt::format(
        R"({{"aggregate": 1, "pipeline": [{{"$currentOp": {{}}}}, {{"$match":
            {{"appName": "{}", "active": true, "command.findAndModify": {{"$exists": true}}}}}}],
            "cursor": {{}}}})",
        name));
    bson_iter_t found;
    if (!find_field(reply.get(), "cursor.firstBatch.0", &found)) return;
    REQUIRE_IN_TIME(std::chrono::steady_clock::now() < late);
  }
}

}  // namespace seqd::testing
