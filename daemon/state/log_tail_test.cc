#include "daemon/state/log_tail.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

namespace seqd {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Memory {
  alignas(64) std::array<std::uint8_t, 64 + 10> bytes{};
};

TEST_CASE("ANewTailIsEmpty") {
  Memory memory;
  CHECK_FALSE(LogTail(memory.bytes).read());
  CHECK(LogTail(memory.bytes).bytes().empty());
}

TEST_CASE("TheNextProcessReadsWhatWasAppended") {
  Memory memory;
  LogTail tail(memory.bytes);
  tail.begin(7, 4096);
  CHECK_FALSE(LogTail(memory.bytes).read());
  REQUIRE(tail.append(Bytes{1, 2, 3}));
  REQUIRE(tail.append(Bytes{4}));
  const auto content = LogTail(memory.bytes).read();
  REQUIRE(content);
  CHECK(content->salt == 7);
  CHECK(content->offset == 4096);
  CHECK(Bytes(content->bytes.begin(), content->bytes.end()) == Bytes{1, 2, 3, 4});
}

TEST_CASE("ATailHasRoomToTheLastByteAndNotForOneMore") {
  Memory memory;
  LogTail tail(memory.bytes);
  tail.begin(7, 4096);
  REQUIRE(tail.append(Bytes(9, 1)));
  CHECK_FALSE(tail.append(Bytes(2, 2)));
  CHECK(tail.append(Bytes(1, 3)));
  CHECK_FALSE(tail.append(Bytes(1, 4)));
  CHECK(tail.bytes().size() == 10);
  tail.begin(7, 5000);
  CHECK(tail.bytes().empty());
  CHECK(tail.append(Bytes(10, 5)));
  CHECK(LogTail(memory.bytes).read()->offset == 5000);
}

TEST_CASE("AMemoryThatIsTooSmallHasNoRoom") {
  Memory memory;
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{64}}) {
    LogTail tail(std::span(memory.bytes).first(size));
    tail.begin(7, 4096);
    CHECK_FALSE(tail.append(Bytes{1}));
    CHECK_FALSE(tail.read());
  }
}

TEST_CASE("AnImpossibleLengthIsNoTail") {
  Memory memory;
  LogTail(memory.bytes).begin(7, 4096);
  memory.bytes[0] = 11;
  CHECK_FALSE(LogTail(memory.bytes).read());
  memory.bytes[7] = 0x80;
  CHECK_FALSE(LogTail(memory.bytes).read());
}

}  // namespace
}  // namespace seqd
