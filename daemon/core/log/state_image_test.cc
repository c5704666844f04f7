#include "daemon/core/log/state_image.h"

#include <catch2/catch.hpp>
#include <limits>

namespace seqd {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

StateImage with_a_range() {
  StateImage image;
  REQUIRE(image.apply(DefineScope{1, "default", Token{1}, 2, ScopeState::owned, {}}).ok());
  REQUIRE(image.apply(DefineSequence{1, 1, "orders", "b", 0}).ok());
  REQUIRE(image.apply(LeaseIntended{1, Token{5}, 10, 1}).ok());
  REQUIRE(image.apply(LeaseGranted{1, Token{5}, 100, 110, 2}).ok());
  REQUIRE(image.apply(DefineClient{1, Token{9}}).ok());
  return image;
}

void refuses(StateImage image, const LogEntry& entry) {
  CHECK(image.apply(entry).code() == ErrorCode::STATE_CORRUPT);
}

TEST_CASE("AnImageMadeFromItsSnapshotIsEqual") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 108}).ok());
  REQUIRE(image.apply(Issued{1, 100, 104, 1, 1, IssueKind::single}).ok());
  REQUIRE(image.apply(Acknowledged{1, 3}).ok());
  REQUIRE(image.apply(GapMade{1, 104, 106, GapCause::power_loss, 0}).ok());
  REQUIRE(image.apply(LeaseIntended{1, Token{6}, 10, 1}).ok());
  REQUIRE(image.apply(DefineClient{2, Token{8}}).ok());
  REQUIRE(image.apply(ForgetClient{2}).ok());
  REQUIRE(image.apply(ClientUser{1, 1'000}).ok());
  REQUIRE(image.apply(ClientUser{1, 2'000}).ok());
  refuses(image, ClientUser{2, 1'000});
  REQUIRE(image.apply(StoreBound{1, Token{3}, "here"}).ok());
  refuses(image, StoreBound{2, Token{3}, "here"});
  REQUIRE(image.apply(StoreHeartbeat{1, Token{4}, 9, StoreAge::restored}).ok());
  refuses(image, StoreHeartbeat{2, Token{4}, 9, StoreAge::current});
  refuses(image, StoreHeartbeat{1, Token{4}, -1, StoreAge::current});
  REQUIRE(image.apply(RegisterReached{1, "invoices", {{"2026", 4}}}).ok());
  REQUIRE(image.apply(RegisterReached{1, "invoices", {{"2026", 5}, {"", 1}}}).ok());
  refuses(image, RegisterReached{2, "invoices", {{"2026", 5}}});
  refuses(image, RegisterReached{1, "", {{"2026", 5}}});
  refuses(image, RegisterReached{1, "invoices", {}});
  refuses(image, RegisterReached{1, "invoices", {{"2026", -1}}});
  refuses(image, RegisterReached{1, "invoices", {{std::string(33, '2'), 1}}});
  StateImage again;
  image.snapshot([&](const LogEntry& entry) { REQUIRE(again.apply(entry).ok()); });
  CHECK(again == image);
  CHECK(again.next_numbers.client == 3);
  CHECK(again.clients.at(1).user == 2'000);
}

TEST_CASE("LeasedIsIssuedAndAvailableAndGaps") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 110}).ok());
  REQUIRE(image.apply(Issued{1, 100, 103, 0, 0, IssueKind::batch}).ok());
  REQUIRE(image.apply(GapMade{1, 103, 105, GapCause::corrupt, 0}).ok());
  const SequenceImage& sequence = image.sequences.at(1);
  CHECK(sequence.totals.leased == 10);
  CHECK(sequence.totals.issued == 3);
  CHECK(sequence.totals.gaps == 2);
  CHECK(StateImage::available(sequence) == 5);
  CHECK(sequence.definition.high_water == 110);
}

TEST_CASE("AGapAtTheEndOfARangeLeavesItsFrontAvailable") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 108}).ok());
  refuses(image, GapMade{1, 104, 109, GapCause::out_of_bounds, 0});
  REQUIRE(image.apply(GapMade{1, 104, 110, GapCause::out_of_bounds, 0}).ok());
  const SequenceImage& sequence = image.sequences.at(1);
  CHECK(sequence.totals.gaps == 6);
  CHECK(StateImage::available(sequence) == 4);
  CHECK(sequence.ranges.front().reserved_end == 104);
  CHECK(sequence.definition.high_water == 110);
  CHECK(sequence.used_below == 110);
  REQUIRE(image.apply(Issued{1, 100, 104, 0, 0, IssueKind::batch}).ok());
  CHECK(image.sequences.at(1).ranges.empty());
}

TEST_CASE("ARangeIssuedToItsEndIsGone") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 110}).ok());
  REQUIRE(image.apply(Issued{1, 100, 110, 0, 0, IssueKind::batch}).ok());
  CHECK(image.sequences.at(1).ranges.empty());
}

TEST_CASE("ASequenceIsForgottenOnlyIfNothingOfItCanBeRequested") {
  StateImage image = with_a_range();
  refuses(image, ForgetSequence{7});
  refuses(image, ForgetSequence{1});
  REQUIRE(image.apply(Reserved{1, 110}).ok());
  REQUIRE(image.apply(Issued{1, 100, 104, 1, 1, IssueKind::single}).ok());
  REQUIRE(image.apply(ReturnOpened{1, Token{7}, 104, 110, Reuse::parked, 0}).ok());
  refuses(image, ForgetSequence{1});
  REQUIRE(image.apply(ReturnClosed{1, Token{7}, ReturnEnd::returned, GapCause::drained, 0}).ok());
  refuses(image, ForgetSequence{1});
  REQUIRE(image.apply(Acknowledged{1, 5}).ok());
  REQUIRE(image.apply(LeaseIntended{1, Token{8}, 10, 0}).ok());
  refuses(image, ForgetSequence{1});
  REQUIRE(image.apply(LeaseClosed{1, Token{8}, LeaseEnd::refused, 0}).ok());
  const NextNumbers next = image.next_numbers;
  REQUIRE(image.apply(ForgetSequence{1}).ok());
  CHECK(image.sequences.empty());
  CHECK(image.next_numbers == next);
  refuses(image, ForgetSequence{1});
  // The name again, with a number of its own.
  CHECK(image.apply(DefineSequence{2, 1, "orders", "counters/orders", 0}).ok());
}

TEST_CASE("AnIssueOutOfOrderOrAboveTheReservationIsRefused") {
  StateImage image = with_a_range();
  refuses(image, Issued{1, 100, 101, 0, 0, IssueKind::single});
  REQUIRE(image.apply(Reserved{1, 105}).ok());
  refuses(image, Issued{1, 101, 102, 0, 0, IssueKind::single});
  refuses(image, Issued{1, 100, 106, 0, 0, IssueKind::single});
  refuses(image, Issued{1, 100, 100, 0, 0, IssueKind::single});
  refuses(image, Issued{1, 100, 101, 7, 1, IssueKind::single});
}

TEST_CASE("EntriesOfThingsThatWereNotDefinedAreRefused") {
  const StateImage image = with_a_range();
  refuses(image, DefineSequence{2, 9, "x", "", 0});
  refuses(image, LeaseIntended{7, {}, 1, 0});
  refuses(image, LeaseGranted{1, Token{1}, 1, 2, 0});
  refuses(image, LeaseClosed{1, Token{1}, LeaseEnd::refused, 0});
  refuses(image, Acknowledged{3, 1});
  refuses(image, ForgetClient{3});
  refuses(image, DefineClient{1, {}});
  refuses(image, DefineClient{0, {}});
  refuses(image, DefineScope{});
  refuses(image, Reserved{1, 111});
  refuses(image, GapMade{1, 101, 105, GapCause::corrupt, 0});
}

TEST_CASE("TotalsThatCannotBeCountedAreRefused") {
  StateImage image = with_a_range();
  refuses(image, SequenceTotals{1, -1, 0, 0, 0, 0});
  REQUIRE(image.apply(LeaseIntended{1, Token{6}, 10, 1}).ok());
  StateImage leased = image;
  REQUIRE(leased.apply(SequenceTotals{1, most, 0, 0, 0, 0}).ok());
  refuses(leased, LeaseGranted{1, Token{6}, 200, 210, 0});
  StateImage gaps = image;
  REQUIRE(gaps.apply(SequenceTotals{1, 0, 0, 0, most, 0}).ok());
  refuses(gaps, GapMade{1, 100, 101, GapCause::corrupt, 0});
  StateImage unknown = image;
  REQUIRE(unknown.apply(SequenceTotals{1, 0, 0, 0, 0, most}).ok());
  refuses(unknown, LeaseClosed{1, Token{6}, LeaseEnd::untraceable, 0});
  StateImage issued = image;
  REQUIRE(issued.apply(SequenceTotals{1, 0, most, 0, 0, 0}).ok());
  REQUIRE(issued.apply(Reserved{1, 110}).ok());
  refuses(issued, Issued{1, 100, 101, 0, 0, IssueKind::single});
}

TEST_CASE("ANumberAboveWhichThereIsNoneIsRefused") {
  const StateImage image = with_a_range();
  const auto last = std::numeric_limits<std::uint32_t>::max();
  refuses(image, DefineScope{last, "x", {}, 0, ScopeState::clean, {}});
  refuses(image, DefineSequence{last, 1, "x", "", 0});
  refuses(image, DefineClient{kLastClient + 1, {}});
  refuses(image, NextNumbers{1, 1, kLastClient + 2});
  StateImage full = image;
  REQUIRE(full.apply(DefineClient{kLastClient, {}}).ok());
  REQUIRE(full.next_numbers.client == kLastClient + 1);
}

TEST_CASE("AHighWaterMarkBelow0IsRefused") {
  const StateImage image = with_a_range();
  refuses(image, DefineSequence{2, 1, "users", "b", -1});
  refuses(image, DefineSequence{1, 1, "orders", "b", std::numeric_limits<std::int64_t>::min()});
}

TEST_CASE("AnImageInWhichAnIdOrANameIsTwiceIsRefused") {
  const StateImage image = with_a_range();
  CHECK(image.check().ok());
  StateImage beside = image;
  REQUIRE(beside.apply(AvailableRange{1, Token{7}, 110, 112, 110}).ok());
  REQUIRE(beside.apply(AvailableRange{1, Token{8}, 90, 100, 90}).ok());
  CHECK(beside.check().ok());
  StateImage twice = beside;
  REQUIRE(twice.apply(AvailableRange{1, Token{9}, 111, 113, 111}).ok());
  CHECK(twice.check().code() == ErrorCode::STATE_CORRUPT);
  StateImage returning = beside;
  REQUIRE(returning.apply(AvailableRange{1, Token{9}, 90, 100, 90}).ok());
  REQUIRE(returning.apply(ReturnOpened{1, Token{9}, 90, 100, Reuse::parked}).ok());
  CHECK(returning.check().code() == ErrorCode::STATE_CORRUPT);
  StateImage named = image;
  REQUIRE(named.apply(DefineSequence{2, 1, "orders", "b", 0}).ok());
  CHECK(named.check().code() == ErrorCode::STATE_CORRUPT);
}

TEST_CASE("TextInAFormThatNoNameHasIsRefused") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 110}).ok());
  REQUIRE(image.apply(Issued{1, 100, 101, 1, 5, IssueKind::text, 15, 7}).ok());
  refuses(image, Issued{1, 101, 102, 1, 6, IssueKind::text, 16, 7});
}

TEST_CASE("AcknowledgedIssuesAreForgottenWhenAllOfThemAre") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 110}).ok());
  REQUIRE(image.apply(Issued{1, 100, 103, 1, 5, IssueKind::single}).ok());
  REQUIRE(image.apply(Issued{1, 103, 106, 1, 8, IssueKind::batch}).ok());
  REQUIRE(image.apply(Acknowledged{1, 7}).ok());
  CHECK(image.clients.at(1).retained.size() == 2);
  REQUIRE(image.apply(Acknowledged{1, 8}).ok());
  CHECK(image.clients.at(1).retained.size() == 1);
  REQUIRE(image.apply(Acknowledged{1, 9}).ok());
  CHECK(image.clients.at(1).retained.empty());
  REQUIRE(image.apply(Acknowledged{1, 2}).ok());
  CHECK(image.clients.at(1).acknowledged_below == 9);
}

TEST_CASE("ARangeOnItsWayBackIsInNoHandUntilItsReturnEnds") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 110}).ok());
  REQUIRE(image.apply(Issued{1, 100, 103, 0, 0, IssueKind::batch}).ok());
  refuses(image, ReturnOpened{1, Token{7}, 104, 110, Reuse::tail, 0});
  refuses(image, ReturnOpened{1, Token{7}, 103, 109, Reuse::tail, 0});
  refuses(image, ReturnOpened{1, Token{7}, 103, 110, Reuse::never, 0});
  REQUIRE(image.apply(ReturnOpened{1, Token{7}, 103, 110, Reuse::tail, 0}).ok());
  const SequenceImage& sequence = image.sequences.at(1);
  CHECK(StateImage::available(sequence) == 0);
  CHECK(sequence.definition.high_water == 110);
  refuses(image, LeaseIntended{1, Token{8}, 10, 1});
  refuses(image, ReturnOpened{1, Token{8}, 103, 110, Reuse::tail, 0});
  refuses(image, ReturnClosed{1, Token{8}, ReturnEnd::returned, GapCause::drained, 0});
  StateImage kept = image;
  REQUIRE(kept.apply(ReturnClosed{1, Token{7}, ReturnEnd::kept, GapCause::drained, 0}).ok());
  CHECK(kept.sequences.at(1).totals.gaps == 7);
  CHECK(kept.sequences.at(1).definition.high_water == 110);
  REQUIRE(image.apply(ReturnClosed{1, Token{7}, ReturnEnd::returned, GapCause::drained, 0}).ok());
  CHECK(sequence.totals.returned == 7);
  CHECK(sequence.definition.high_water == 103);
}

TEST_CASE("OnlyACounterThatWasLoweredLowersTheHighWaterMark") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(ReturnOpened{1, Token{7}, 100, 110, Reuse::parked, 0}).ok());
  REQUIRE(image.apply(ReturnClosed{1, Token{7}, ReturnEnd::returned, GapCause::drained, 0}).ok());
  CHECK(image.sequences.at(1).definition.high_water == 110);
}

TEST_CASE("TheHighWaterMarkIsNeverLoweredBelowWhatWasUsedOrIsAvailable") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 110}).ok());
  REQUIRE(image.apply(Issued{1, 100, 110, 0, 0, IssueKind::batch}).ok());
  for (const std::int64_t begin : {120, 140}) {
    const Token lease{static_cast<std::uint8_t>(begin)};
    REQUIRE(image.apply(LeaseIntended{1, lease, 10, 1}).ok());
    REQUIRE(image.apply(LeaseGranted{1, lease, begin, begin + 10, 2}).ok());
  }
  const auto return_range = [&image](std::int64_t begin) {
    REQUIRE(image.apply(ReturnOpened{1, Token{7}, begin, begin + 10, Reuse::tail, 0}).ok());
    REQUIRE(image.apply(ReturnClosed{1, Token{7}, ReturnEnd::returned, GapCause::drained, 0}).ok());
    return image.sequences.at(1).definition.high_water;
  };
  CHECK(return_range(140) == 130);
  CHECK(return_range(120) == 110);
}

TEST_CASE("AnImageWithAnOpenReturnIsEqualToItsSnapshot") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(Reserved{1, 110}).ok());
  REQUIRE(image.apply(Issued{1, 100, 103, 0, 0, IssueKind::batch}).ok());
  REQUIRE(image.apply(ReturnOpened{1, Token{7}, 103, 110, Reuse::parked, 5}).ok());
  StateImage again;
  image.snapshot([&](const LogEntry& entry) { REQUIRE(again.apply(entry).ok()); });
  CHECK(again == image);
  CHECK(again.sequences.at(1).used_below == 103);
}

TEST_CASE("ASnapshotOfBeforeSaysNothingOfWhatWasUsedAndTheAvailableRangesDo") {
  StateImage image;
  REQUIRE(image.apply(DefineScope{1, "default", Token{1}, 2, ScopeState::owned, {}}).ok());
  REQUIRE(image.apply(DefineSequence{1, 1, "orders", "b", 110}).ok());
  CHECK(image.sequences.at(1).used_below == 110);
  REQUIRE(image.apply(AvailableRange{1, Token{5}, 103, 110, 103}).ok());
  CHECK(image.sequences.at(1).used_below == 103);
}

}  // namespace
}  // namespace seqd
