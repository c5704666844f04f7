#include "protocol/replies.h"

#include <catch2/catch.hpp>
#include <limits>
#include <msgpack.hpp>
#include <string>

#include "protocol/hex_bytes.h"
#include "protocol/limits.h"
#include "protocol/values/value_writer.h"

namespace seqd::protocol {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Numbers on both sides of every change of encoding.
std::vector<std::int64_t> interesting_numbers() {
  std::vector<std::int64_t> numbers = {0, std::numeric_limits<std::int64_t>::min(), kMax};
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    for (const std::int64_t near : {power - 1, power, power + 1}) {
      numbers.push_back(near);
      numbers.push_back(-near);
      numbers.push_back(-near - 1);
    }
  }
  for (std::int64_t small = -40; small <= 0; ++small) numbers.push_back(small);
  return numbers;
}

// The same value as written by msgpack-cxx, which writes the shortest form too.
template <typename Pack>
std::string oracle(Pack pack) {
  msgpack::sbuffer bytes;
  msgpack::packer<msgpack::sbuffer> packer(bytes);
  pack(packer);
  return {bytes.data(), bytes.size()};
}

using Packer = msgpack::packer<msgpack::sbuffer>;

}  // namespace

TEST_CASE("EveryIntegerIsWrittenInItsShortestForm", "[protocol][value_writer]") {
  for (const std::int64_t number : interesting_numbers()) {
    Buffer buffer;
    append_integer(buffer, number);
    INFO(number);
    CHECK(buffer.text() == oracle([&](Packer& packer) { packer.pack(number); }));
  }
}

TEST_CASE("HeadersOfEverySizeAreWrittenInTheirShortestForm", "[protocol][value_writer]") {
  for (const std::uint32_t size : {0U, 1U, 15U, 16U, 31U, 32U, 255U, 256U, 65'535U, 65'536U}) {
    INFO(size);
    const std::string text(size, 't');
    Buffer buffer;
    append_text(buffer, text);
    CHECK(buffer.text() == oracle([&](Packer& packer) { packer.pack(text); }));
    buffer.clear();
    append_binary(buffer, text);
    CHECK(buffer.text() == oracle([&](Packer& packer) {
            packer.pack_bin(size);
            packer.pack_bin_body(text.data(), size);
          }));
    buffer.clear();
    append_array(buffer, size);
    append_map(buffer, size);
    CHECK(buffer.text() == oracle([&](Packer& packer) {
            packer.pack_array(size);
            packer.pack_map(size);
          }));
  }
  Buffer buffer;
  append_nil(buffer);
  append_bool(buffer, true);
  append_bool(buffer, false);
  append_array(buffer, 0xffff'ffff);
  CHECK(to_hex_digits(buffer.bytes()) == "c0c3c2ddffffffff");
}

TEST_CASE("AnIdReplyIsWhatMsgpackCxxWouldWrite", "[protocol][replies]") {
  for (const std::uint32_t msgid : {0U, 127U, 128U, 255U, 256U, 65'535U, 65'536U, 0xffff'ffffU}) {
    for (const std::int64_t id : interesting_numbers()) {
      if (id < 1) continue;
      Buffer buffer;
      append_id_reply(buffer, msgid, id);
      REQUIRE(buffer.text() == oracle([&](Packer& packer) {
                packer.pack_array(4);
                packer.pack(1);
                packer.pack(msgid);
                packer.pack_nil();
                packer.pack(id);
              }));
    }
  }
}

TEST_CASE("ARunsReplyIsWhatMsgpackCxxWouldWrite", "[protocol][replies]") {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 70'000U}) {
    std::vector<Run> runs;
    for (std::size_t run = 0; run < count; ++run)
      runs.push_back({static_cast<std::int64_t>(1 + run * 1'000), 1'000, 1});
    if (count == 1) runs = {{kMax, 1, kMax}};
    Buffer buffer;
    append_runs_reply(buffer, 70'000, runs);
    CHECK(buffer.text() == oracle([&](Packer& packer) {
            packer.pack_array(4);
            packer.pack(1);
            packer.pack(70'000);
            packer.pack_nil();
            packer.pack_array(static_cast<std::uint32_t>(runs.size()));
            for (const Run& run : runs) {
              packer.pack_array(3);
              packer.pack(run.first);
              packer.pack(run.count);
              packer.pack(run.step);
            }
          }));
  }
}

TEST_CASE("EveryErrorOfTheCatalogueIsWrittenAsFaultAndText", "[protocol][replies]") {
  int written = 0;
#define X(code, fault, retry, meaning)                                 \
  {                                                                    \
    Buffer buffer;                                                     \
    append_error_reply(buffer, 300, ErrorCode::code, "what happened"); \
    CHECK(buffer.text() == oracle([&](Packer& packer) {                \
            packer.pack_array(4);                                      \
            packer.pack(1);                                            \
            packer.pack(300);                                          \
            packer.pack_array(2);                                      \
            packer.pack(static_cast<int>(Fault::fault));               \
            packer.pack(std::string(#code ": what happened"));         \
            packer.pack_nil();                                         \
          }));                                                         \
    ++written;                                                         \
  }
#include "protocol/errors.def"
#undef X
  CHECK(written > 10);
}

TEST_CASE("TheTextOfAnErrorIsBoundedAndPrintable", "[protocol][replies]") {
  Buffer buffer;
  append_error_reply(buffer, 1, ErrorCode::BUSY, std::string(100'000, 'x'));
  Message message;
  REQUIRE(parse_message(buffer.bytes(), message).ok());
  CHECK(read_reply_error(message.error)->text == std::string(kErrorTextBytes, 'x'));

  buffer.clear();
  append_error_reply(buffer, 1, ErrorCode::BUSY, "a\nb\xff\x1b[31m");
  REQUIRE(parse_message(buffer.bytes(), message).ok());
  CHECK(read_reply_error(message.error)->text == "a?b??[31m");

  buffer.clear();
  append_error_reply(buffer, 1, ErrorCode::BUSY, "");
  REQUIRE(parse_message(buffer.bytes(), message).ok());
  CHECK(read_reply_error(message.error)->text.empty());
}

TEST_CASE("AResultThatWasBegunIsCompletedByAPacker", "[protocol][replies]") {
  Buffer buffer;
  begin_result(buffer, 5);
  msgpack::packer<Buffer> packer(buffer);
  packer.pack(std::string("pong"));
  CHECK(to_hex_digits(buffer.bytes()) == "940105c0a4706f6e67");
}

}  // namespace seqd::protocol
