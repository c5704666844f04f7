#include "protocol/buffer.h"

#include <catch2/catch.hpp>
#include <msgpack.hpp>
#include <random>
#include <string>

namespace seqd::protocol {

TEST_CASE("BufferReturnsWhatWasAppendedInOrder", "[protocol][buffer]") {
  Buffer buffer;
  CHECK(buffer.empty());
  CHECK(buffer.text().empty());
  buffer.append("one");
  buffer.write("two", 3);
  buffer.append_byte('!');
  buffer.append("");
  CHECK(buffer.text() == "onetwo!");
  CHECK(buffer.bytes().size() == 7);
  buffer.consume(3);
  CHECK(buffer.text() == "two!");
  buffer.truncate(3);
  CHECK(buffer.text() == "two");
  buffer.consume(3);
  CHECK(buffer.empty());
}

TEST_CASE("PreparedRoomIsTakenOverOnlyAsFarAsCommitted", "[protocol][buffer]") {
  Buffer buffer;
  char* const room = buffer.prepare(100);
  std::memcpy(room, "abcdef", 6);
  CHECK(buffer.empty());
  buffer.commit(4);
  CHECK(buffer.text() == "abcd");
}

TEST_CASE("RandomAppendsAndConsumesBehaveLikeAString", "[protocol][buffer]") {
  INFO("seed " << Catch::rngSeed());
  std::mt19937_64 random(Catch::rngSeed());
  Buffer buffer;
  std::string model;
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t count = random() % (step % 100 == 0 ? 5'000 : 60);
    if (random() % 2 == 0) {
      const std::string piece(count, static_cast<char>('a' + random() % 26));
      buffer.append(piece);
      model += piece;
    } else {
      const std::size_t drop = std::min(count, model.size());
      buffer.consume(drop);
      model.erase(0, drop);
    }
    REQUIRE(buffer.size() == model.size());
    if (step % 50 == 0) REQUIRE(buffer.text() == model);
  }
  CHECK(buffer.text() == model);
}

TEST_CASE("MemoryOfALargeReplyIsReturnedWhenTheBufferIsEmpty", "[protocol][buffer]") {
  Buffer buffer;
  buffer.append(std::string(Buffer::kKeptCapacity * 4, 'x'));
  buffer.consume(buffer.size() - 1);
  CHECK(buffer.capacity() >= Buffer::kKeptCapacity * 4);
  buffer.consume(1);
  CHECK(buffer.capacity() == 0);
  buffer.append("small");
  const std::size_t kept = buffer.capacity();
  buffer.clear();
  CHECK(buffer.capacity() == kept);
}

TEST_CASE("ABufferThatIsDrainedAsItFillsDoesNotGrow", "[protocol][buffer]") {
  Buffer buffer;
  const std::string piece(100, 'x');
  buffer.append(piece);
  for (int round = 0; round < 100'000; ++round) {
    buffer.append(piece);
    buffer.consume(piece.size());
  }
  CHECK(buffer.size() == piece.size());
  CHECK(buffer.capacity() <= 1'024);
}

TEST_CASE("AMovedFromBufferIsEmptyAndUsable", "[protocol][buffer]") {
  Buffer first;
  first.append("content");
  Buffer second(std::move(first));
  CHECK(second.text() == "content");
  first.append("again");  // NOLINT(bugprone-use-after-move): that it works is the point
  CHECK(first.text() == "again");
}

TEST_CASE("AMsgpackPackerWritesIntoABuffer", "[protocol][buffer]") {
  Buffer buffer;
  msgpack::packer<Buffer> packer(buffer);
  packer.pack_array(2);
  packer.pack(7);
  packer.pack(std::string("x"));
  CHECK(buffer.text() == "\x92\x07\xa1x");
}

}  // namespace seqd::protocol
