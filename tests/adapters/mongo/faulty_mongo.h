// Faulty: leases of a real MongoDB server that fails where a test says.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "tests/adapters/in_time.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

// A server, and a store on it that only the fail points of its own name reach. It is set up with a
// time-out that a busy machine keeps; the one of the test counts from reopen().
struct Faulty {
  explicit Faulty(const char* variable, const std::string& uri_option = "")
      : server(variable), name("faulty-" + server.database()), options(server.options()) {
    options.uri = with_uri_option(options.uri, "appName=" + name);
    if (!uri_option.empty()) options.uri += "&" + uri_option;
    reopen();
    lease(LeaseOutcome::Kind::granted);
  }

  void reopen(int timeout_ms = kPatientMs) {
    options.timeout_ms = timeout_ms;
    store = open_mongo_store(options);
  }

  // Until its connection stands: what follows is one command and its answer.
  void connect() {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(300);
    while (!store->read({.binding = lease_request("orders", 1).binding, .instance = {}}).ok())
      REQUIRE_IN_TIME(std::chrono::steady_clock::now() < late);
  }

  // One lease of 10 IDs; returns its error's code.
  ErrorCode lease(LeaseOutcome::Kind expected) {
    LeaseRequest request = lease_request("orders", 10);
    request.high_water = high_water;
    outcome = store->lease(request);
    INFO(outcome.error.to_string());
    REQUIRE(static_cast<int>(outcome.kind) == static_cast<int>(expected));
    if (outcome.kind == LeaseOutcome::Kind::granted) high_water = outcome.end;
    return outcome.error.code();
  }

  std::int64_t value() { return server.number("counters", "orders", "seq"); }

  std::string command_failure(const std::string& what) const {
    return fmt::format(R"({{"failCommands": ["findAndModify"], "appName": "{}", {}}})", name, what);
  }

  MongoServer server;
  std::string name;
  MongoStoreOptions options;
  OpenMongoStore store;
  std::int64_t high_water = 0;
  LeaseOutcome outcome;
};

}  // namespace seqd::testing
