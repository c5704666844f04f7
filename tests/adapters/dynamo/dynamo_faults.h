// DynamoFaults: the real DynamoDB Local behind a proxy that makes faults between it and its stores,
// and the words of the tests that plan them. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/adapters/dynamo/http_proxy.h"
#include "tests/adapters/store_contract.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

inline constexpr char kUpdate[] = "UpdateItem";

inline HttpFault fault(HttpFault::Kind kind) {
  return {kind, 0, ""};
}
inline HttpFault says(int status, const std::string& body) {
  return {HttpFault::Kind::say, status, body};
}

struct DynamoFaults {
  explicit DynamoFaults(bool plain = false) : proxy(server.options().endpoint) {
    options = server.options();
    options.endpoint = proxy.endpoint();
    options.plain = plain;
  }
  // The time-out is that of a busy machine where nothing has to end by it.
  std::unique_ptr<DynamoHandle> open(std::int64_t timeout_ms = kPatientMs) {
    options.timeout_ms = timeout_ms;
    return std::make_unique<DynamoHandle>(options);
  }
  DynamoServer server;
  HttpProxy proxy;
  DynamoStoreOptions options;
};

inline LeaseRequest slot_request(std::int64_t count = 10) {
  return lease_request("orders", count, LeaseTrace::slot);
}

// The instance has made its epoch, as every daemon has before its first lease.
inline void claim(DynamoHandle& store, const LeaseRequest& request) {
  auto outcome = store.claim({.instance = request.instance, .epoch = 0, .nonce = random_token()});
  REQUIRE(outcome.ok());
}

}  // namespace seqd::testing
