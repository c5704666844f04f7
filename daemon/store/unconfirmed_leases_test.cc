#include "daemon/store/unconfirmed_leases.h"

#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

LeaseRequest plain_request(const char* sequence) {
  LeaseRequest request = lease_request("orders", 10);
  request.sequence = sequence;
  request.heartbeat = 1;
  return request;
}

LeaseOutcome granted(std::int64_t begin) {
  return {.kind = LeaseOutcome::Kind::granted, .begin = begin, .end = begin + 10, .error = {}};
}

TEST_CASE("UnconfirmedLeases: a lease is found by its own request, until it is dropped") {
  UnconfirmedLeases leases;
  const LeaseRequest orders = plain_request("orders");
  const LeaseRequest tickets = plain_request("tickets");
  leases.keep(orders, granted(1));
  leases.keep(tickets, granted(11));
  REQUIRE(leases.find(orders)->kind == Resolution::Kind::granted);
  REQUIRE((leases.find(orders)->begin == 1 && leases.find(orders)->end == 11));
  REQUIRE(leases.find(tickets)->begin == 11);
  leases.drop(orders);
  REQUIRE_FALSE(leases.find(orders));
  REQUIRE(leases.find(tickets));
}

TEST_CASE(
    "UnconfirmedLeases: neither another lease of the slot nor one without heartbeat is found") {
  UnconfirmedLeases leases;
  const LeaseRequest first = plain_request("orders");
  leases.keep(first, granted(1));
  LeaseRequest asked = first;
  asked.heartbeat = 0;  // of an instance that was replaced
  REQUIRE_FALSE(leases.find(asked));
  const LeaseRequest second = plain_request("orders");
  REQUIRE_FALSE(leases.find(second));
  leases.keep(second, granted(21));
  REQUIRE_FALSE(leases.find(first));
  REQUIRE(leases.find(second)->begin == 21);
}

}  // namespace
}  // namespace seqd
