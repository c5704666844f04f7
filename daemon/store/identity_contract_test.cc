// The contract of every store: the identity of its database.
#include <set>
#include <vector>

#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;

Token must(const Result<Token>& identity) {
  INFO(identity.status().to_string());
  REQUIRE(identity.ok());
  return *identity;
}

STORE_TEST("every daemon gets one identity, and another database has another one") {
  Token first{};
  {
    TestType fixture;
    auto store = fixture.open();
    first = must(store->identify(random_token()));
    REQUIRE(first != Token{});
    REQUIRE(must(store->identify(random_token())) == first);
    auto other = fixture.open();
    REQUIRE(must(other->identify(random_token())) == first);
    REQUIRE(other->place().text == store->place().text);
    // It is neither a counter nor an instance.
    const auto lease = lease_request("orders", 10, TestType::kTrace);
    const auto claimed = store->claim({lease.instance, 0, random_token()});
    REQUIRE(claimed.ok());
    require_granted(store->lease(lease), 1, 11);
    REQUIRE(must(store->identify(random_token())) == first);
  }
  TestType fixture;
  auto store = fixture.open();
  REQUIRE(must(store->identify(random_token())) != first);
}

STORE_TEST("daemons that come to a new database at once get the same identity") {
  constexpr int kDaemons = 8;
  TestType fixture;
  std::vector<Result<Token>> answers(kDaemons, Status(ErrorCode::INTERNAL, "not asked"));
  auto store = fixture.open();
  race(kDaemons, [&](int one) {
    // A store whose write lost a race may say so; who asks has a back-off.
    for (int tries = 0; tries < 10 && !answers[static_cast<std::size_t>(one)].ok(); ++tries)
      answers[static_cast<std::size_t>(one)] = store->identify(random_token());
  });
  std::set<Token> identities;
  for (const Result<Token>& answer : answers) identities.insert(must(answer));
  REQUIRE(identities.size() == 1);
}

}  // namespace
}  // namespace seqd
