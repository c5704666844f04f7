#include <catch2/catch.hpp>

#include "daemon/core/log/state_image.h"

namespace seqd {
namespace {

// [100, 110) available, all of it reserved.
StateImage with_a_range() {
  StateImage image;
  REQUIRE(image.apply(DefineScope{1, "default", Token{1}, 2, ScopeState::owned, {}}).ok());
  REQUIRE(image.apply(DefineSequence{1, 1, "orders", "b", 0}).ok());
  REQUIRE(image.apply(DefineSequence{2, 1, "users", "b", 0}).ok());
  for (const SequenceId sequence : {1U, 2U}) {
    REQUIRE(image.apply(LeaseIntended{sequence, Token{5}, 10, 1}).ok());
    REQUIRE(image.apply(LeaseGranted{sequence, Token{5}, 100, 110, 2}).ok());
    REQUIRE(image.apply(Reserved{sequence, 110}).ok());
  }
  REQUIRE(image.apply(DefineClient{1, Token{9}}).ok());
  return image;
}

void refuses(StateImage image, const LogEntry& entry) {
  CHECK(image.apply(entry).code() == ErrorCode::STATE_CORRUPT);
}

bool survives_a_snapshot(const StateImage& image) {
  StateImage again;
  image.snapshot([&](const LogEntry& entry) { REQUIRE(again.apply(entry).ok()); });
  return again == image;
}

std::vector<std::pair<std::int64_t, std::int64_t>> ranges(const StateImage& image) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const AvailableRange& range : image.sequences.at(1).ranges)
    out.emplace_back(range.begin, range.end);
  return out;
}

TEST_CASE("ABlockIsNeitherAvailableNorIssued") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(BlockGranted{1, 1, 0, 7, 100, 104}).ok());
  REQUIRE(image.apply(BlockGranted{1, 1, 1, 8, 104, 110}).ok());
  const SequenceImage& sequence = image.sequences.at(1);
  CHECK(StateImage::available(sequence) == 0);
  CHECK(StateImage::out(sequence) == 10);
  CHECK(sequence.totals.issued == 0);
  CHECK(survives_a_snapshot(image));
  CHECK(image.check().ok());
}

TEST_CASE("WhatIsLeftOfABlockIsAvailableBeforeEverythingElse") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(BlockGranted{1, 1, 0, 7, 100, 104}).ok());
  REQUIRE(image.apply(BlockGranted{1, 1, 1, 8, 104, 106}).ok());
  REQUIRE(image.apply(BlockEnded{1, 1, 0, 100, 103}).ok());
  CHECK(ranges(image) ==
        std::vector<std::pair<std::int64_t, std::int64_t>>{{103, 104}, {106, 110}});
  CHECK(image.sequences.at(1).totals.issued == 3);
  CHECK(image.sequences.at(1).used_below == 103);
  CHECK(survives_a_snapshot(image));
  // It is one range with what it lies beside.
  REQUIRE(image.apply(Issued{1, 103, 104, 0, 0, IssueKind::single}).ok());
  REQUIRE(image.apply(BlockEnded{1, 1, 1, 104, 104}).ok());
  CHECK(ranges(image) == std::vector<std::pair<std::int64_t, std::int64_t>>{{104, 110}});
  CHECK(survives_a_snapshot(image));
  REQUIRE(image.apply(Issued{1, 104, 110, 0, 0, IssueKind::batch}).ok());
  CHECK(image.sequences.at(1).used_below == 110);
  CHECK(image.sequences.at(1).totals.issued == 10);
}

TEST_CASE("BlocksThatCannotBeAreRefused") {
  StateImage image = with_a_range();
  refuses(image, BlockGranted{3, 1, 0, 7, 100, 104});
  refuses(image, BlockGranted{1, 1, 0, 7, 101, 104});
  refuses(image, BlockGranted{1, 1, 0, 7, 100, 100});
  refuses(image, BlockGranted{1, 1, 0, 7, 100, 111});
  refuses(image, BlockGranted{1, 0, 0, 7, 100, 104});
  refuses(image, BlockEnded{1, 1, 0, 100, 100});
  REQUIRE(image.apply(BlockGranted{1, 1, 0, 7, 100, 104}).ok());
  refuses(image, BlockGranted{1, 1, 0, 8, 104, 106});
  refuses(image, BlockEnded{1, 1, 1, 100, 100});
  refuses(image, BlockEnded{1, 2, 0, 100, 100});
  refuses(image, BlockEnded{1, 1, 0, 101, 102});
  refuses(image, BlockEnded{1, 1, 0, 100, 99});
  refuses(image, BlockEnded{1, 1, 0, 100, 105});
  refuses(image, ForgetSequence{1});
  // One slot of a client has one block, of whatever sequence.
  REQUIRE(image.apply(BlockGranted{2, 1, 0, 8, 100, 104}).ok());
  CHECK(image.check().code() == ErrorCode::STATE_CORRUPT);
}

TEST_CASE("ABlockThatIsNotReservedIsRefused") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(LeaseIntended{1, Token{6}, 10, 1}).ok());
  REQUIRE(image.apply(LeaseGranted{1, Token{6}, 200, 210, 2}).ok());
  REQUIRE(image.apply(BlockGranted{1, 1, 0, 7, 100, 110}).ok());
  refuses(image, BlockGranted{1, 1, 1, 8, 200, 204});
}

// The counter is lowered to where nothing is used: never below a block.
TEST_CASE("AReturnKeepsTheHighWaterMarkAboveBlocks") {
  StateImage image = with_a_range();
  REQUIRE(image.apply(BlockGranted{1, 1, 0, 7, 100, 104}).ok());
  REQUIRE(image.apply(ReturnOpened{1, Token{5}, 104, 110, Reuse::tail, 3}).ok());
  REQUIRE(image.apply(ReturnClosed{1, Token{5}, ReturnEnd::returned, GapCause::drained, 4}).ok());
  CHECK(image.sequences.at(1).definition.high_water == 104);
  CHECK(survives_a_snapshot(image));
}

}  // namespace
}  // namespace seqd
