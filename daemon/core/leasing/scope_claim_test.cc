#include "daemon/core/leasing/scope_claim.h"

#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using State = ScopeClaim::State;

constexpr Token kInstance{1};
constexpr Token kNonce{2};

struct Claimant {
  explicit Claimant(ScopeState state = ScopeState::clean, std::uint64_t epoch = 0)
      : claim({1, "default", kInstance, epoch, state, kNonce}) {}
  // Up to the answer of the store.
  void send() {
    claim.begin(random);
    claim.move_to(State::claiming);
  }
  SeededRandom random{1};
  ScopeClaim claim;
};

TEST_CASE("NewClaimHasANonceOfItsOwn", "[scope_claim]") {
  Claimant claimant(ScopeState::clean, 3);
  claimant.claim.begin(claimant.random);
  CHECK(claimant.claim.state() == State::recording);
  const ClaimRequest request = claimant.claim.request(false);
  CHECK(request.instance == kInstance);
  CHECK(request.epoch == 3);
  CHECK(request.nonce != kNonce);
  CHECK(request.nonce == claimant.claim.definition().nonce);
}

TEST_CASE("ClaimThatMayHaveBeenSentIsRepeatedWithItsNonce", "[scope_claim]") {
  Claimant claimant(ScopeState::claiming);
  claimant.send();
  CHECK(claimant.claim.request(false).nonce == kNonce);
  claimant.claim.move_to(State::retrying);
  claimant.claim.move_to(State::claiming);
  CHECK(claimant.claim.request(false).nonce == kNonce);
}

TEST_CASE("WonClaimIsOwnedAtTheNextEpoch", "[scope_claim]") {
  Claimant claimant;
  CHECK_FALSE(claimant.claim.has_history());
  claimant.send();
  CHECK_FALSE(claimant.claim.owned_in_log());
  claimant.claim.win();
  CHECK(claimant.claim.state() == State::won);
  CHECK(claimant.claim.owned_in_log());
  CHECK(claimant.claim.has_history());
  CHECK(claimant.claim.definition().epoch == 1);
}

TEST_CASE("RemainderThatWasLeftCleanIsNotOwned", "[scope_claim]") {
  Claimant claimant(ScopeState::owned, 4);
  CHECK(claimant.claim.owned_in_log());
  claimant.claim.leave();
  CHECK(claimant.claim.definition() ==
        DefineScope{1, "default", kInstance, 4, ScopeState::clean, kNonce});
}

TEST_CASE("LossOfANewInstanceIsBelieved", "[scope_claim]") {
  Claimant claimant;
  claimant.send();
  CHECK(claimant.claim.lose(false));
  CHECK(claimant.claim.state() == State::losing);
}

TEST_CASE("LossIsDoubtedOnceWhereAnOlderCopyCouldShowIt", "[scope_claim]") {
  const bool has_beat = GENERATE(false, true);
  Claimant claimant(ScopeState::clean, has_beat ? 0 : 1);
  claimant.send();
  CHECK_FALSE(claimant.claim.lose(has_beat));
  CHECK(claimant.claim.state() == State::waiting);
  const Token nonce = claimant.claim.definition().nonce;
  claimant.send();
  CHECK(claimant.claim.request(false).nonce == nonce);
  SECTION("the store could be compared") {
    CHECK(claimant.claim.lose(has_beat));
    claimant.claim.renew(claimant.random);
    claimant.send();
    CHECK(claimant.claim.lose(has_beat));
  }
  SECTION("it could not") {
    claimant.claim.doubt_again();
    CHECK_FALSE(claimant.claim.lose(has_beat));
  }
}

TEST_CASE("RenewedScopeIsANewInstanceWithoutAnEpoch", "[scope_claim]") {
  Claimant claimant(ScopeState::owned, 4);
  claimant.claim.move_to(State::owned);
  claimant.claim.renew(claimant.random);
  CHECK(claimant.claim.state() == State::waiting);
  CHECK_FALSE(claimant.claim.owned_in_log());
  CHECK_FALSE(claimant.claim.has_history());
  CHECK(claimant.claim.definition().instance != kInstance);
}

TEST_CASE("NothingOfTheFormerInstanceCountsAfterAnOrder", "[scope_claim]") {
  Claimant claimant(ScopeState::clean, 4);
  claimant.send();
  CHECK_FALSE(claimant.claim.lose(true));
  claimant.claim.start_over(claimant.random);
  CHECK(claimant.claim.definition().nonce == Token{});
  claimant.send();
  CHECK(claimant.claim.request(true).resumes);
  CHECK_FALSE(claimant.claim.lose(true));
}

}  // namespace
}  // namespace seqd
