#include "daemon/core/leasing/store_proof.h"

#include <initializer_list>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using State = StoreProof::State;

constexpr ScopeId kScope = 1;
constexpr Token kIdentity{1};
constexpr Token kAnother{2};
constexpr Token kInstance{3};
constexpr Token kFormer{4};
const char* const kPlace = "mongodb db1 shop";

StoreProof proof_of(StoreHeartbeat heartbeat) {
  return {kScope, {StoreBound{kScope, kIdentity, kPlace}, heartbeat}};
}

StoreProof fresh() {
  return {kScope, {}};
}

StoreHeartbeat beat(const Token& instance, std::int64_t number, StoreAge age = StoreAge::current) {
  return {kScope, instance, number, age};
}

bool equal(const BeatRequest& request, const Token& instance, std::int64_t known, bool raise) {
  return request.instance == instance && request.known == known && request.raise == raise;
}

TEST_CASE("OnlyAKnownDatabaseMayBeClaimedAndOnlyAWrongOneRefuses", "[store_proof]") {
  StoreProof proof = fresh();
  const auto is = [&proof](State next, bool identifies, bool refuses) {
    proof.move_to(next);
    return proof.is_identified() == identifies && proof.refuses() == refuses;
  };
  CHECK_FALSE(proof.is_identified());
  CHECK(is(State::comparing, false, false));
  CHECK(is(State::binding, false, false));
  CHECK(is(State::identified, true, false));
  CHECK(is(State::confirmed, true, false));
  CHECK(is(State::restored, false, true));
  CHECK(is(State::accepted, true, false));
}

TEST_CASE("AnotherDatabaseRefusesToTheEnd", "[store_proof]") {
  StoreProof proof = fresh();
  proof.move_to(State::changed);
  CHECK(proof.refuses());
  CHECK_FALSE(proof.is_identified());
}

// --- identity

TEST_CASE("DatabaseIsExpectedAtThePlaceOfTheLogOnly", "[store_proof]") {
  CHECK(proof_of({}).expects(kPlace));
  CHECK_FALSE(proof_of({}).expects("mongodb db2 shop"));
  CHECK_FALSE(fresh().expects(kPlace));
  CHECK_FALSE(proof_of(beat(kInstance, 7, StoreAge::restored)).expects(kPlace));
  CHECK_FALSE(proof_of(beat(kInstance, 7, StoreAge::raised)).expects(kPlace));
}

TEST_CASE("AnyDatabaseIsTheRightOneForANewScope", "[store_proof]") {
  CHECK_FALSE(fresh().is_another(kAnother));
  CHECK_FALSE(proof_of({}).is_another(kIdentity));
  CHECK(proof_of({}).is_another(kAnother));
}

TEST_CASE("BindingIsRecordedWhereItIsNew", "[store_proof]") {
  StoreProof proof = fresh();
  CHECK(proof.bind(kIdentity, kPlace));
  CHECK(proof.bound() == StoreBound{kScope, kIdentity, kPlace});
  CHECK_FALSE(proof.bind(kIdentity, kPlace));
  CHECK(proof.bind(kIdentity, "mongodb db2 shop"));
  CHECK(proof.bind(kAnother, "mongodb db2 shop"));
}

// --- heartbeat

TEST_CASE("HeartbeatIsComparedFirstWhereAClaimOrAnOlderCopyAwaitsIt", "[store_proof]") {
  CHECK_FALSE(fresh().compares_first(false));
  CHECK(proof_of(beat(kInstance, 7)).compares_first(false));
  CHECK_FALSE(proof_of(beat(kInstance, 7)).compares_first(true));
  CHECK(proof_of(beat(kInstance, 0, StoreAge::restored)).compares_first(true));
}

TEST_CASE("BeforeAClaimAHeartbeatIsReadAndAMissingOneRaised", "[store_proof]") {
  CHECK(equal(proof_of(beat(kFormer, 7)).first_beat(kInstance), kFormer, 7, false));
  CHECK(equal(proof_of({}).first_beat(kInstance), kInstance, 0, true));
  // Its entry was gone.
  CHECK(equal(proof_of(beat(kFormer, 0, StoreAge::restored)).first_beat(kInstance), kFormer, 0,
              true));
}

TEST_CASE("OwnerRaisesItsHeartbeatAfterThatOfTheFormerInstance", "[store_proof]") {
  StoreProof proof = proof_of(beat(kFormer, 7));
  CHECK(equal(proof.beat_of_owner(kInstance), kFormer, 7, false));
  CHECK(proof.beat_of(kInstance) == 0);
  CHECK(proof.note_beat(kInstance, 1));
  CHECK(equal(proof.beat_of_owner(kInstance), kInstance, 1, true));
  CHECK(proof.beat_of(kInstance) == 1);
  CHECK(equal(fresh().beat_of_owner(kInstance), kInstance, 0, true));
}

TEST_CASE("MissingEntryIsAnOlderCopyWhereThereWasOne", "[store_proof]") {
  const StoreProof proof = fresh();
  const BeatRequest raise{kInstance, 0, true};
  CHECK(proof.is_gone(raise, {}, true));
  CHECK_FALSE(proof.is_gone(raise, {}, false));
  CHECK_FALSE(proof.is_gone(raise, {false, 1, {}}, true));
  CHECK_FALSE(proof.is_gone({kInstance, 0, false}, {}, true));
  CHECK_FALSE(proof.is_gone({kInstance, 7, true}, {}, true));
  CHECK(proof_of(beat(kFormer, 0, StoreAge::restored)).is_gone(raise, {}, false));
}

TEST_CASE("HeartbeatIsRecordedWhereItIsNew", "[store_proof]") {
  StoreProof proof = fresh();
  CHECK_FALSE(proof.note_beat(kInstance, 0));
  CHECK(proof.note_beat(kInstance, 1));
  CHECK_FALSE(proof.note_beat(kInstance, 1));
  CHECK(proof.heartbeat() == beat(kInstance, 1));
  CHECK(proof.note_beat({}, 0));
  CHECK(proof.heartbeat() == beat({}, 0));
}

TEST_CASE("HeartbeatThatIsConfirmedEndsAnOlderCopy", "[store_proof]") {
  StoreProof proof = proof_of(beat(kFormer, 7, StoreAge::restored));
  CHECK(proof.note_beat(kFormer, 7));
  CHECK(proof.heartbeat() == beat(kFormer, 7));
  StoreProof gone = proof_of(beat(kFormer, 0, StoreAge::restored));
  CHECK(gone.note_beat(kFormer, 0));
  CHECK(gone.heartbeat() == beat({}, 0));
}

// --- an older copy

TEST_CASE("OlderCopyIsRecordedOnce", "[store_proof]") {
  StoreProof proof = proof_of(beat(kFormer, 7));
  CHECK(proof.note_older(kInstance, true, false));
  CHECK(proof.heartbeat() == beat(kFormer, 7, StoreAge::restored));
  CHECK_FALSE(proof.note_older(kInstance, true, false));
}

TEST_CASE("EntryThatIsGoneIsThatOfThePresentInstance", "[store_proof]") {
  StoreProof proof = proof_of(beat(kFormer, 7));
  CHECK(proof.note_older(kInstance, true, true));
  CHECK(proof.heartbeat() == beat(kInstance, 0, StoreAge::restored));
  StoreProof claimed = fresh();
  CHECK(claimed.note_older(kInstance, true, false));
  CHECK(claimed.heartbeat() == beat(kInstance, 0, StoreAge::restored));
}

TEST_CASE("InstanceThatNeverHadAnEntryRecordsNothing", "[store_proof]") {
  StoreProof proof = fresh();
  CHECK_FALSE(proof.note_older(kInstance, false, false));
  CHECK(proof.heartbeat() == StoreHeartbeat{});
}

TEST_CASE("RaiseIsRecordedAndMissedInAnotherCopy", "[store_proof]") {
  StoreProof proof = proof_of(beat(kFormer, 7, StoreAge::restored));
  CHECK_FALSE(proof.note_raise(false));
  CHECK(proof.note_raise(true));
  CHECK_FALSE(proof.note_raise(true));
  CHECK(proof.heartbeat().age == StoreAge::raised);
  CHECK(proof.note_raise(false));
  CHECK_FALSE(proof.note_raise(false));
  CHECK(proof.heartbeat().age == StoreAge::replaced);
  CHECK(proof.note_raise(true));
}

}  // namespace
}  // namespace seqd
