// carry_out() on an image with the scopes of several stores: what befalls one leaves the others.
#include "daemon/state/start_rules.h"

#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr ScopeId kOwned = 1, kClean = 2;
constexpr SequenceId kOfOwned = 1, kOfClean = 2;
constexpr std::int64_t kBegin = 1, kReserved = 21, kEnd = 101;
const Token kOwnedInstance{1}, kCleanInstance{2};

// A scope that was in use and one that was left by an orderly stop, a sequence each, with the same
// range, blocks, reservation and an open lease.
StateImage two_stores() {
  StateImage image;
  const auto apply = [&image](const LogEntry& entry) { REQUIRE(image.apply(entry).ok()); };
  apply(DefineScope{kOwned, "owned", kOwnedInstance, 3, ScopeState::owned, {}});
  apply(DefineScope{kClean, "clean", kCleanInstance, 5, ScopeState::clean, {}});
  for (const SequenceId id : {kOfOwned, kOfClean}) {
    const Token first{static_cast<std::uint8_t>(10 + id)},
        second{static_cast<std::uint8_t>(20 + id)};
    apply(
        DefineSequence{id, id == kOfOwned ? kOwned : kClean, "s" + std::to_string(id), "b", kEnd});
    apply(LeaseIntended{id, first, kEnd - kBegin, 0});
    apply(LeaseGranted{id, first, kBegin, kEnd, 0});
    apply(Reserved{id, kReserved});
    apply(LeaseIntended{id, second, 50, 0});
  }
  return image;
}

Changes carried_out(Verdict verdict, bool is_older, StateImage& image) {
  SeededRandom random(7);
  const Judgement judgement{verdict, GapCause::no_witness, "", is_older};
  Result<Changes> changes = carry_out(judgement, image, random, 0);
  REQUIRE(changes.ok());
  REQUIRE(image.check().ok());
  return std::move(*changes);
}

std::int64_t available(const StateImage& image, SequenceId id) {
  return StateImage::available(image.sequences.at(id));
}

TEST_CASE("AForfeitLeavesTheSequencesOfOtherStores") {
  StateImage image = two_stores();
  const Changes changes = carried_out(Verdict::forfeit, false, image);
  REQUIRE(changes.gaps.size() == 1);
  CHECK(changes.gaps[0].sequence == kOfOwned);
  REQUIRE(changes.dropped.size() == 1);
  CHECK(changes.dropped[0].sequence == kOfOwned);
  CHECK(available(image, kOfOwned) == 0);
  CHECK(available(image, kOfClean) == kEnd - kBegin);
  CHECK(image.sequences.at(kOfClean).intent);
  CHECK(image.scopes.at(kOwned).instance != kOwnedInstance);
  CHECK(image.scopes.at(kClean).instance == kCleanInstance);
  CHECK(image.scopes.at(kClean).epoch == 5);
}

TEST_CASE("AResumeLosesTheReservationsOfTheStoreThatWasInUse") {
  StateImage image = two_stores();
  const Changes changes = carried_out(Verdict::resume, false, image);
  REQUIRE(changes.gaps.size() == 1);
  CHECK(changes.gaps[0].sequence == kOfOwned);
  CHECK(changes.gaps[0].begin == kBegin);
  CHECK(changes.gaps[0].end == kReserved);
  CHECK(available(image, kOfOwned) == kEnd - kReserved);
  CHECK(available(image, kOfClean) == kEnd - kBegin);
  CHECK(image.scopes.at(kOwned).instance == kOwnedInstance);
}

TEST_CASE("AnOlderLogForfeitsAlsoWhatWasLeftInOrder") {
  StateImage image = two_stores();
  const Changes changes = carried_out(Verdict::forfeit, true, image);
  CHECK(changes.gaps.size() == 2);
  CHECK(changes.dropped.size() == 2);
  CHECK(available(image, kOfOwned) + available(image, kOfClean) == 0);
  CHECK(image.scopes.at(kClean).instance != kCleanInstance);
}

TEST_CASE("WithAWitnessEveryStoreKeepsItsRangesAndReservesAgain") {
  StateImage image = two_stores();
  const Changes changes = carried_out(Verdict::witness, false, image);
  CHECK(changes.gaps.empty());
  CHECK(changes.dropped.empty());
  for (const SequenceId id : {kOfOwned, kOfClean}) {
    CHECK(available(image, id) == kEnd - kBegin);
    CHECK(image.sequences.at(id).ranges.front().reserved_end == kBegin);
  }
  CHECK(image.scopes.at(kOwned).state == ScopeState::owned);
}

TEST_CASE("AForfeitDrawsOneNewInstance") {
  StateImage image = two_stores();
  SeededRandom random(7);
  const Judgement judgement{Verdict::forfeit, GapCause::no_witness, "", false};
  REQUIRE(carry_out(judgement, image, random, 0).ok());
  SeededRandom again(7);
  CHECK(image.scopes.at(kOwned).instance == random_token(again));
}

}  // namespace
}  // namespace seqd
