#include "daemon/store/lease_trace.h"

#include <cstring>

#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("LeaseTrace: a token tells how its lease was sent, and no two are alike", "[store]") {
  SeededRandom random(7);
  const LeaseTrace trace =
      GENERATE(LeaseTrace::plain, LeaseTrace::transaction, LeaseTrace::slot, LeaseTrace::session);
  const Token one = new_lease_token(random, trace);
  const Token two = new_lease_token(random, trace);
  REQUIRE(trace_of(one) == trace);
  REQUIRE(trace_of(two) == trace);
  REQUIRE(one != two);
}

TEST_CASE("LeaseTrace: the numbers of a session rise from token to token", "[store]") {
  SeededRandom random(7);
  SessionTokens tokens;
  const Token first = tokens.next(random);
  REQUIRE(trace_of(first) == LeaseTrace::session);
  REQUIRE(session_number_of(first).number == 1);
  for (std::int64_t number = 2; number <= 1'000; ++number) {
    const Token next = tokens.next(random);
    REQUIRE(trace_of(next) == LeaseTrace::session);
    REQUIRE(session_number_of(next).number == number);
    REQUIRE(session_number_of(next).salt == session_number_of(first).salt);
  }
  // The session of another process.
  SessionTokens others;
  REQUIRE(session_number_of(others.next(random)).salt != session_number_of(first).salt);
}

// Random bits that happen to be the mark, once.
class UnluckyRandom final : public Random {
 public:
  explicit UnluckyRandom(const Token& first) {
    for (std::size_t i = 0; i < 2; ++i) std::memcpy(&words_[i], first.data() + 8 * i, 8);
  }
  std::uint64_t next() override { return at_ < 2 ? words_[at_++] : ++at_; }

 private:
  std::uint64_t words_[2] = {};
  std::size_t at_ = 0;
};

TEST_CASE("LeaseTrace: a token of a plain lease never carries a mark by chance", "[store]") {
  SeededRandom random(7);
  const Token marked = new_lease_token(random, LeaseTrace::transaction);
  UnluckyRandom unlucky(marked);
  const Token plain = new_lease_token(unlucky, LeaseTrace::plain);
  REQUIRE(plain != marked);
  REQUIRE(trace_of(plain) == LeaseTrace::plain);
}

TEST_CASE("LeaseTrace: a lease slot's name is a legal field and differs by instance and sequence",
          "[store]") {
  LeaseRequest request;
  request.instance.fill(0xab);
  request.sequence = "tenant.5:a-b_c";
  const std::string slot = slot_of(request);
  REQUIRE(slot == "abababababababababababababababab:tenant~5:a-b_c");
  request.sequence = "tenant:5:a-b_c";
  REQUIRE(slot_of(request) != slot);
  request.sequence = "tenant.5:a-b_c";
  request.instance.fill(0xac);
  REQUIRE(slot_of(request) != slot);
}

}  // namespace
}  // namespace seqd
