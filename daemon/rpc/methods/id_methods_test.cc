// next and range: what they give, their limits, wrong parameters of all methods, and both ways in
// which a request is parsed.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/requests.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace std::string_literals;
using Runs = std::vector<Run>;

TEST_CASE("NextGivesOneIdAfterTheOther", "[methods]") {
  Service service;
  for (std::int64_t id = 1; id <= 30; ++id)
    REQUIRE(service.ask(next_request(5, "orders")).id() == id);
}

// A request that is sent again is known by its bytes; what comes between it and the first must not
// change whose IDs it gets.
TEST_CASE("TheSameRequestAgainIsForTheSameSequence", "[methods]") {
  Service service;
  service.world.core.settings.add("bills");
  const auto orders = [&service] { return service.ask(next_request(5, "orders")).id(); };
  REQUIRE(orders() == 1);
  REQUIRE(orders() == 2);
  // Its name with a header of three bytes: parsed on the other path.
  REQUIRE(service.ask(request("next", 1, "\xda\x00\x05"s + "bills")).id() == 1);
  REQUIRE(orders() == 3);
  REQUIRE(service.ask(next_request(5, "bills")).id() == 2);
  REQUIRE(orders() == 4);
  REQUIRE(service.ask(peek_request(6, "bills")).code == ErrorCode::OK);
  REQUIRE(orders() == 5);
  for (int time = 0; time < 3; ++time) {
    REQUIRE(service.ask(next_request(5, "nosuch")).code == ErrorCode::NO_SEQUENCE);
    REQUIRE(service.ask(range_request(5, "nosuch", 2)).code == ErrorCode::NO_SEQUENCE);
    REQUIRE(service.ask(range_request(5, "nosuch", 2)).code == ErrorCode::NO_SEQUENCE);
  }
  REQUIRE(orders() == 6);
  REQUIRE(service.ask(range_request(5, "orders", 3)).runs() == Runs{{7, 3, 1}});
  REQUIRE(service.ask(range_request(5, "orders", 3)).runs() == Runs{{10, 3, 1}});
  REQUIRE(service.ask(range_request(5, "orders", 4)).runs() == Runs{{13, 4, 1}});
  // Not even its front is read on the fast path.
  std::string wide = request("next", "bills");
  wide.replace(0, 1, "\xdc\x00\x04"s);
  REQUIRE(orders() == 17);
  REQUIRE(service.ask(wide).id() == 3);
  REQUIRE(orders() == 18);
}

TEST_CASE("RangeGivesRunsWhoseCountsAddUp", "[methods]") {
  Service service;
  REQUIRE(service.ask(range_request(1, "orders", 25)).runs() == Runs{{1, 25, 1}});
  REQUIRE(service.ask(range_request(2, "orders", 1)).runs() == Runs{{26, 1, 1}});
}

TEST_CASE("WrongParametersAreBadRequestsAndTheConnectionContinues", "[methods]") {
  Service service;
  const std::string orders = "\xa6orders";
  const std::string cases[] = {
      request("next", 0, ""),
      request("next", 1, "\x05"),
      request("next", 1, "\xc0"),
      request("next", 2, orders + "\x05"),
      request("next", 2, orders + "\xc0"),
      request("next", 3, orders + "\x80\x80"),
      request("next", 2, orders + "\x81\xa1x\x05"),
      request("next", 2, orders + "\x81\x05\x05"),
      request("next", 2, orders + "\x81\xaatimeout_ms\xff"),
      request("next", 2, orders + "\x81\xaatimeout_ms\xa1x"),
      request("next", 2, orders + "\x81\xaatimeout_ms\xce\x00\x36\xee\x81"s),
      request("range", 0, ""),
      request("range", 1, orders),
      request("range", 2, orders + "\xa1x"),
      request("range", 2, orders + "\x00"s),
      request("range", 2, orders + "\xff"),
      request("range", 2, orders + "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"s),
      request("range", 2, orders + "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
      request("range", 3, orders + "\x05\x05"),
      request("range", 4, orders + "\x05\x80\x80"),
      request("peek", 0, ""),
      request("peek", 1, "\x05"),
      request("peek", 2, orders + "\x05"),
      request("hello", 1, "\x05"),
      request("hello", 2, "\x80\x80"),
      request("hello", 1, "\x81\xa5other\xa1x"),
      request("hello", 1,
              "\x81\xa6"s
              "client\xa3"s
              "abc"),
      request("hello", 1,
              "\x81\xa6"s
              "client\x05"s),
      request("hello", 1,
              "\x81\xa6"s
              "client\xd9\x20"s +
                  std::string(32, 'g')),
      request("ack", 1, "\x05"),
      request("ack", 0, ""),
      next_request(1, ""),
      next_request(1, "a b"),
      next_request(1, "a\n"),
      next_request(1, "\xc3\xa4"),
  };
  for (const std::string& bytes : cases) {
    CAPTURE(bytes);
    REQUIRE(service.code(bytes) == ErrorCode::BAD_REQUEST);
    REQUIRE(service.line->session != nullptr);
  }
  REQUIRE(service.ask(next_request(1, "orders")).id() == 1);
}

TEST_CASE("TimeoutAtItsLimitIsAccepted", "[methods]") {
  Service service;
  REQUIRE(service.ask(next_request(1, "orders", 3'600'000)).id() == 1);
  REQUIRE(service.ask(next_request(1, "orders", 0)).id() == 2);
}

TEST_CASE("TimeoutZeroDoesNotWait", "[methods]") {
  Service service;
  service.world.send(*service.line, next_request(1, "orders", 0));
  service.world.turn();
  REQUIRE(service.line->replies().front().code == ErrorCode::UNAVAILABLE);
}

TEST_CASE("TimeoutOfTheRequestIsKept", "[methods]") {
  Service service;
  service.world.send(*service.line,
                     next_request(1, "orders", 50) + range_request(2, "orders", 5, 80));
  service.world.turn();
  service.world.core.time.advance(50);
  service.world.turn();
  REQUIRE(service.line->replies().size() == 1);
  service.world.core.time.advance(30);
  service.world.turn();
  REQUIRE(service.line->replies().front().msgid == 2);
  REQUIRE(service.line->session->waiting == 0);
}

TEST_CASE("NameAtItsLimitIsTakenAndAboveIsTooLarge", "[methods]") {
  ServerLimits limits;
  limits.methods.name = 10;
  Service service(limits);
  service.world.core.settings.add(std::string(10, 'x'));
  for (const bool slow : {false, true}) {
    const auto timeout = slow ? std::optional<std::int64_t>(5'000) : std::nullopt;
    REQUIRE(service.code(next_request(1, std::string(10, 'x'), timeout)) == ErrorCode::OK);
    REQUIRE(service.code(next_request(1, std::string(11, 'x'), timeout)) == ErrorCode::TOO_LARGE);
    REQUIRE(service.code(next_request(1, std::string(200, 'x'), timeout)) == ErrorCode::TOO_LARGE);
    REQUIRE(service.code(next_request(1, std::string(300, 'x'), timeout)) == ErrorCode::TOO_LARGE);
  }
  REQUIRE(service.code(peek_request(1, std::string(11, 'x'))) == ErrorCode::TOO_LARGE);
}

TEST_CASE("ANameThatWasTakenIsTooLargeUnderALowerLimit", "[methods]") {
  ServerLimits limits;
  limits.methods.name = 10;
  Service service(limits);
  const std::string name(10, 'x');
  service.world.core.settings.add(name);
  REQUIRE(service.code(next_request(1, name)) == ErrorCode::OK);
  limits.methods.name = 9;
  service.world.server->apply_settings(limits);
  REQUIRE(service.code(next_request(1, name)) == ErrorCode::TOO_LARGE);
  REQUIRE(service.code(next_request(1, name.substr(1))) == ErrorCode::NO_SEQUENCE);
}

TEST_CASE("CountAtItsLimitIsTakenAndAboveIsTooLarge", "[methods]") {
  ServerLimits limits;
  limits.methods.count = 100;
  Service service(limits);
  for (const bool slow : {false, true}) {
    const auto timeout = slow ? std::optional<std::int64_t>(5'000) : std::nullopt;
    REQUIRE(service.code(range_request(1, "orders", 99, timeout)) == ErrorCode::OK);
    REQUIRE(service.code(range_request(1, "orders", 100, timeout)) == ErrorCode::OK);
    REQUIRE(service.code(range_request(1, "orders", 101, timeout)) == ErrorCode::TOO_LARGE);
    REQUIRE(service.code(range_request(1, "orders", INT64_MAX, timeout)) == ErrorCode::TOO_LARGE);
    REQUIRE(service.code(range_request(1, "orders", 0, timeout)) == ErrorCode::BAD_REQUEST);
  }
}

TEST_CASE("UnknownSequenceIsNoSequenceOnBothPaths", "[methods]") {
  Service service;
  REQUIRE(service.code(next_request(1, "others")) == ErrorCode::NO_SEQUENCE);
  REQUIRE(service.code(next_request(1, "others", 5)) == ErrorCode::NO_SEQUENCE);
  REQUIRE(service.code(range_request(1, "others", 5)) == ErrorCode::NO_SEQUENCE);
}

TEST_CASE("AlternatingNamesAreNotMixedUp", "[methods]") {
  Service service;
  service.world.core.settings.add("bills");
  for (std::int64_t id = 1; id <= 5; ++id) {
    REQUIRE(service.ask(next_request(1, "orders")).id() == id);
    REQUIRE(service.ask(next_request(1, "bills")).id() == id);
  }
}

// On many connections, so that none of them had the same name before.
TEST_CASE("ManyNamesOnManyConnectionsAreNotMixedUp", "[methods][large]") {
  Service service;
  std::vector<std::string> names;
  for (int number = 0; number < 300; ++number) {
    names.push_back("tenant-" + std::to_string(number) + ".orders");
    service.world.core.settings.add(names.back());
  }
  for (std::int64_t id = 1; id <= 4; ++id) {
    Line& line = service.world.connect(static_cast<std::uint32_t>(id));
    for (const std::string& name : names) {
      REQUIRE(service.world.ask(line, next_request(1, name)).id() == id);
    }
  }
  for (const Sequence* sequence : service.world.core.table->sequences().all())
    REQUIRE(sequence->totals().issued == 4);
}

// Every encoding of the same request has the same answer, on the fast path and on the slow one.
TEST_CASE("EveryEncodingOfARequestHasTheSameAnswer", "[methods]") {
  const std::string arrays[] = {"\x94", "\xdc\x00\x04"s, "\xdd\x00\x00\x00\x04"s};
  const std::string zeros[] = {"\x00"s, "\xcc\x00"s, "\xd0\x00"s,
                               "\xd3\x00\x00\x00\x00\x00\x00\x00\x00"s};
  const std::string sevens[] = {"\x07",
                                "\xcc\x07",
                                "\xcd\x00\x07"s,
                                "\xce\x00\x00\x00\x07"s,
                                "\xcf\x00\x00\x00\x00\x00\x00\x00\x07"s,
                                "\xd0\x07",
                                "\xd1\x00\x07"s,
                                "\xd2\x00\x00\x00\x07"s,
                                "\xd3\x00\x00\x00\x00\x00\x00\x00\x07"s};
  const std::string methods[] = {"\xa5range",
                                 "\xd9\x05range",
                                 "\xda\x00\x05range"s,
                                 "\xdb\x00\x00\x00\x05range"s,
                                 "\xc4\x05range"s,
                                 "\xc5\x00\x05range"s,
                                 "\xc6\x00\x00\x00\x05range"s};
  const std::string names[] = {"\xa6orders",
                               "\xd9\x06orders",
                               "\xda\x00\x06orders"s,
                               "\xdb\x00\x00\x00\x06orders"s,
                               "\xc4\x06orders"s,
                               "\xc5\x00\x06orders"s,
                               "\xc6\x00\x00\x00\x06orders"s};
  const std::string params[] = {"\x92", "\xdc\x00\x02"s, "\xdd\x00\x00\x00\x02"s};
  Service service;
  std::int64_t first = 1;
  for (const std::string& array : arrays) {
    for (const std::string& zero : zeros) {
      for (std::size_t at = 0; at < 63; ++at) {
        const std::string bytes = array + zero + sevens[at % 9] + methods[at % 7] + params[at % 3] +
                                  names[(at / 7) % 7] + sevens[(at / 3) % 9];
        CAPTURE(bytes);
        const Reply reply = service.ask(bytes);
        REQUIRE(reply.msgid == 7);
        REQUIRE(reply.runs() == Runs{{first, 7, 1}});
        first += 7;
      }
    }
  }
}

TEST_CASE("ErrorsOfTheCoreReachTheWire", "[methods]") {
  using Kind = ScriptedStore::LeaseScript::Kind;
  for (const ErrorCode code : {ErrorCode::EXHAUSTED, ErrorCode::SEQ_TYPE, ErrorCode::SEQ_MEANING,
                               ErrorCode::SEQ_REGRESSED, ErrorCode::STORE_REFUSED}) {
    Service service;
    service.world.core.store.leases = {{Kind::refuse, {code, "because"}, 0, 0}};
    REQUIRE(service.code(next_request(1, "orders")) == code);
  }
  Service busy;
  busy.world.core.settings.add("few").max_waiters = 1;
  busy.world.send(*busy.line, next_request(1, "few") + next_request(2, "few"));
  busy.world.turn();
  REQUIRE(busy.line->replies().front().code == ErrorCode::BUSY);
  Service stopping;
  stopping.world.core.table->begin_stop({ErrorCode::STOPPING, "bye"});
  REQUIRE(stopping.code(next_request(1, "orders")) == ErrorCode::STOPPING);
}

}  // namespace
}  // namespace seqd
