#include "protocol/messages.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "protocol/hex_bytes.h"
#include "protocol/limits.h"
#include "protocol/replies.h"
#include "protocol/values/value_writer.h"

namespace seqd::protocol {
namespace {

constexpr const char* kNext = "a4 6e 65 78 74";
constexpr const char* kParams = "91 a1 78";

}  // namespace

TEST_CASE("EveryEncodingOfARequestMeansTheSame", "[protocol][messages]") {
  const std::vector<std::string> outer = {"94", "dc 00 04", "dd 00 00 00 04"};
  const std::vector<std::string> kinds = {"00", "cc 00", "cf 00 00 00 00 00 00 00 00", "d0 00"};
  const std::vector<std::string> msgids = {"07",
                                           "cc 07",
                                           "cd 00 07",
                                           "ce 00 00 00 07",
                                           "cf 00 00 00 00 00 00 00 07",
                                           "d0 07",
                                           "d1 00 07",
                                           "d2 00 00 00 07",
                                           "d3 00 00 00 00 00 00 00 07"};
  const std::vector<std::string> methods = {"a4",    "d9 04",    "da 00 04",      "db 00 00 00 04",
                                            "c4 04", "c5 00 04", "c6 00 00 00 04"};
  const std::vector<std::string> params = {"91 a1 78", "dc 00 01 c4 01 78",
                                           "dd 00 00 00 01 db 00 00 00 01 78"};
  for (const std::string& a : outer)
    for (const std::string& b : kinds)
      for (const std::string& c : msgids)
        for (const std::string& d : methods)
          for (const std::string& e : params) {
            const Bytes frame = hex_bytes(a + b + c + d + "6e 65 78 74" + e);
            Message message;
            REQUIRE(parse_message(frame, message).ok());
            REQUIRE(message.kind == Message::Kind::request);
            REQUIRE(message.msgid == 7);
            REQUIRE(message.method == "next");
            REQUIRE(message.param_count == 1);
            REQUIRE(message.params.read_text() == "x");
          }
}

TEST_CASE("AMsgidOfEverySizeIsRead", "[protocol][messages]") {
  const std::vector<std::pair<std::string, std::uint32_t>> cases = {
      {"00", 0},
      {"7f", 127},
      {"cc ff", 255},
      {"cd ff ff", 65'535},
      {"ce ff ff ff ff", 4'294'967'295}};
  for (const auto& [hex, expected] : cases) {
    Message message;
    REQUIRE(parse_message(hex_bytes("94 00" + hex + kNext + kParams), message).ok());
    CHECK(message.msgid == expected);
  }
}

TEST_CASE("AFrameOfAnotherProgressionIsRefusedWithTheMsgidWhereItCanBeRead",
          "[protocol][messages]") {
  const std::vector<std::pair<std::string, std::uint32_t>> cases = {
      {"00", 0},                                         // not an array
      {"c0", 0},                                         //
      {"80", 0},                                         //
      {"a4 94 00 01 90", 0},                             // an array inside a text
      {"90", 0},                                         // nothing in it
      {"91 00", 0},                                      // a request without anything
      {"92 00 05", 5},                                   // too short
      {"93 00 05 a1 78", 5},                             //
      {"95 00 05 a1 78 90 c0", 5},                       // too long
      {"94 03 05 a1 78 90", 0},                          // no such kind
      {"94 ff 05 a1 78 90", 0},                          //
      {"94 cb 00 00 00 00 00 00 00 00 05 a1 78 90", 0},  // 0.0 is not 0
      {"94 00 ff a1 78 90", 0},                          // msgid below 0
      {"94 00 cf 00 00 00 01 00 00 00 00 a1 78 90", 0},  // msgid above 32 bits
      {"94 00 cb 3f f0 00 00 00 00 00 00 a1 78 90", 0},  // msgid a float
      {"94 00 a1 35 a1 78 90", 0},                       // msgid a text
      {"94 00 05 06 90", 5},                             // the method a number
      {"94 00 05 c0 90", 5},                             // the method nil
      {"94 00 05 a1 78 c0", 5},                          // params nil
      {"94 00 05 a1 78 80", 5},                          // params a map
      {"92 02 a1 78", 0},                                // a notification without params
      {"94 02 a1 78 90 c0", 0},                          // a notification too long
      {"93 02 05 90", 0},                                // its method a number
      {"93 02 a1 78 80", 0},                             // its params a map
      {"93 01 05 c0", 0},                                // a reply too short
      {"94 01 c0 c0 c0", 0},                             // its msgid nil
  };
  for (const auto& [hex, msgid] : cases) {
    INFO(hex);
    Message message;
    const ParseOutcome outcome = parse_message(hex_bytes(hex), message);
    CHECK(outcome.error == ErrorCode::BAD_REQUEST);
    CHECK(outcome.msgid == msgid);
    CHECK_FALSE(outcome.text.empty());
  }
}

TEST_CASE("NotificationsAndRepliesAreRead", "[protocol][messages]") {
  Message message;
  const Bytes notification = hex_bytes("93 02 a3 61 63 6b 91 cd 04 00");
  REQUIRE(parse_message(notification, message).ok());
  CHECK(message.kind == Message::Kind::notification);
  CHECK(message.method == "ack");
  CHECK(message.param_count == 1);
  CHECK(message.params.read_integer() == 1'024);

  const Bytes reply = hex_bytes("94 01 09 c0 ce 00 01 00 00");
  REQUIRE(parse_message(reply, message).ok());
  CHECK(message.kind == Message::Kind::reply);
  CHECK(message.msgid == 9);
  CHECK_FALSE(read_reply_error(message.error).has_value());
  CHECK(message.result.read_integer() == 65'536);
}

TEST_CASE("NoTruncatedFrameIsReadBeyondItsEnd", "[protocol][messages]") {
  for (const char* hex : {"94 00 cd 01 02 a4 6e 65 78 74 91 a1 78", "94 01 05 92 00 a1 78 c0",
                          "93 02 d9 03 61 63 6b 91 05"}) {
    const Bytes bytes = hex_bytes(hex);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      Message message;
      const ParseOutcome outcome = parse_message(cut, message);
      if (outcome.ok())
        CHECK((message.params.remaining() < size || message.error.remaining() < size));
    }
  }
}

TEST_CASE("TheMsgidOfABrokenFrameIsFoundWhenItHasArrived", "[protocol][messages]") {
  CHECK(readable_msgid(hex_bytes("94 00 05 c1")) == 5);
  CHECK(readable_msgid(hex_bytes("94 00 cd 01 00 db ff ff ff ff")) == 256);
  CHECK(readable_msgid(hex_bytes("94 00 cd 01")) == 0);
  CHECK(readable_msgid(hex_bytes("94 01 05 c0 c1")) == 0);
  CHECK(readable_msgid(hex_bytes("93 02 05 90")) == 0);
  CHECK(readable_msgid(hex_bytes("df 0a 29 5f df")) == 0);
  CHECK(readable_msgid({}) == 0);
}

TEST_CASE("AnErrorReplyIsReadBackAsItWasWritten", "[protocol][messages]") {
  Buffer buffer;
  append_error_reply(buffer, 3, ErrorCode::UNAVAILABLE, "BUSY: the store said so");
  Message message;
  REQUIRE(parse_message(buffer.bytes(), message).ok());
  const auto error = read_reply_error(message.error);
  REQUIRE(error.has_value());
  CHECK(error->code == ErrorCode::UNAVAILABLE);
  CHECK(error->text == "BUSY: the store said so");
  CHECK(message.result.read_nil());
}

TEST_CASE("ACodeAtTheEndOfAnotherWordIsNotTheCode", "[protocol][messages]") {
  Buffer buffer;
  append_array(buffer, 2);
  append_integer(buffer, 0);
  append_text(buffer, "XBUSY: BUSY: a queue is full");
  const auto error = read_reply_error(ValueReader{buffer.bytes()});
  REQUIRE(error.has_value());
  CHECK(error->code == ErrorCode::BUSY);
  CHECK(error->text == "a queue is full");
}

TEST_CASE("AnErrorOfAnotherFormIsStillAnError", "[protocol][messages]") {
  const auto read = [](const Bytes& bytes) { return read_reply_error(ValueReader{bytes}); };
  const Bytes unknown_of_caller = hex_bytes("92 01 a6 4e 45 57 3a 20 78");
  REQUIRE(read(unknown_of_caller).has_value());
  CHECK(read(unknown_of_caller)->code == ErrorCode::BAD_REQUEST);
  CHECK(read(unknown_of_caller)->text == "NEW: x");
  const Bytes unknown_of_daemon = hex_bytes("92 00 a6 4e 45 57 3a 20 78");
  CHECK(read(unknown_of_daemon)->code == ErrorCode::INTERNAL);
  const Bytes plain_text = hex_bytes("a7 42 55 53 59 3a 20 78");
  CHECK(read(plain_text)->code == ErrorCode::BUSY);
  CHECK(read(plain_text)->text == "x");
  for (const char* hex : {"01", "90", "92 00 00", "80", "91 a1 78", "93 00 a1 78 c0", "92"}) {
    INFO(hex);
    const Bytes bytes = hex_bytes(hex);
    REQUIRE(read(bytes).has_value());
    CHECK(read(bytes)->code == ErrorCode::INTERNAL);
  }
}

TEST_CASE("OnlyRunsOfLegalIdsAreRead", "[protocol][messages]") {
  const auto read = [](const char* hex) {
    const Bytes bytes = hex_bytes(hex);
    ValueReader reader{bytes};
    const auto run = read_run(reader);
    CHECK(reader.at_end() == run.has_value());
    return run;
  };
  CHECK(read("93 01 01 01") == Run{1, 1, 1});
  CHECK(read("93 cd 01 00 64 02") == Run{256, 100, 2});
  CHECK(read("93 cf 7f ff ff ff ff ff ff ff 01 7f").has_value());
  CHECK_FALSE(read("93 cf 7f ff ff ff ff ff ff ff 02 01"));
  CHECK_FALSE(read("93 01 cf 7f ff ff ff ff ff ff ff 02"));
  CHECK(read("93 01 cf 7f ff ff ff ff ff ff ff 01").has_value());
  // A progression may go down, and below 1.
  CHECK(read("93 00 05 01") == Run{0, 5, 1});
  CHECK(read("93 05 64 fd") == Run{5, 100, -3});
  CHECK(read("93 d3 80 00 00 00 00 00 00 00 01 ff").has_value());
  CHECK_FALSE(read("93 d3 80 00 00 00 00 00 00 00 02 ff"));
  CHECK_FALSE(read("93 00 cf 7f ff ff ff ff ff ff ff d3 80 00 00 00 00 00 00 00"));
  for (const char* hex : {"93 01 00 01", "93 01 01 00", "93 01 ff 01", "92 01 01", "94 01 01 01 01",
                          "93 01 01 c0", "c0", "93 01 01"}) {
    INFO(hex);
    CHECK_FALSE(read(hex));
  }
}

}  // namespace seqd::protocol
