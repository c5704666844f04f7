#include "daemon/base/status.h"

#include <memory>
#include <set>
#include <string>

#include "daemon/base/events.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("StatusWithoutErrorIsOk", "[status]") {
  const Status status;
  REQUIRE(status.ok());
  REQUIRE(status.to_string() == "OK");
}

TEST_CASE("StatusOfAnErrorSaysCodeAndText", "[status]") {
  const Status status(ErrorCode::BUSY, "the table is full");
  REQUIRE_FALSE(status.ok());
  REQUIRE(status.code() == ErrorCode::BUSY);
  REQUIRE(status.to_string() == "BUSY: the table is full");
}

TEST_CASE("ResultHoldsValueOrError", "[status]") {
  Result<std::unique_ptr<int>> value = std::make_unique<int>(7);
  REQUIRE(value.ok());
  REQUIRE(value.status().ok());
  const std::unique_ptr<int> taken = std::move(*value);
  REQUIRE(*taken == 7);
  const Result<std::unique_ptr<int>> error(ErrorCode::CONFIG, "no such key");
  REQUIRE_FALSE(error.ok());
  REQUIRE(error.status().to_string() == "CONFIG: no such key");
}

TEST_CASE("EveryEventHasItsOwnMessageId", "[events]") {
  std::set<std::string_view> ids;
  int kinds = 0;
#define X(kind, id, level, text)                      \
  ++kinds;                                            \
  ids.insert(event_info(EventKind::kind).message_id); \
  REQUIRE(event_info(EventKind::kind).name == #kind); \
  REQUIRE(event_info(EventKind::kind).message_id.size() == 32);
#include "daemon/base/events.def"
#undef X
  REQUIRE(static_cast<int>(ids.size()) == kinds);
}

}  // namespace
}  // namespace seqd
