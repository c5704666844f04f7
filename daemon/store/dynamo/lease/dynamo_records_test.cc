#include "daemon/store/dynamo/lease/dynamo_records.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kNowMs = 1'800'000'000'000;
constexpr std::int64_t kHourMs = 3'600'000;

// The lease slot of host `host`, and an item in which it leased last so many hours ago.
std::string slot_of_host(std::size_t host) {
  return fmt::format("{:032x}:orders", host);
}
void add_record(DynamoItem& item, std::size_t host, std::int64_t hours) {
  item["seqd_lease:" + slot_of_host(host)] =
      dynamo_map({{"state", dynamo_text("granted")},
                  {"count", dynamo_number(10)},
                  {"at", dynamo_number((kNowMs - hours * kHourMs) / 1000)}});
}

TEST_CASE("DynamoRecords: hosts that lease keep their records, however many they are", "[dynamo]") {
  const std::size_t hosts =
      GENERATE(std::size_t{100}, std::size_t{101}, std::size_t{300}, kRoomForDynamoRecords);
  CAPTURE(hosts);
  DynamoItem item;
  for (std::size_t host = 0; host < hosts; ++host) add_record(item, host, 23);
  REQUIRE(outdated_slots(item, slot_of_host(hosts), kNowMs).empty());
}

TEST_CASE("DynamoRecords: above a hundred, the records of a day ago go, the oldest first",
          "[dynamo]") {
  DynamoItem item;
  for (std::size_t host = 0; host < 100; ++host) add_record(item, host, 1);
  add_record(item, 100, 25);
  add_record(item, 101, 26);
  REQUIRE(outdated_slots(item, slot_of_host(999), kNowMs) ==
          std::vector{slot_of_host(101), slot_of_host(100)});
  // With room for them they stay, for a month.
  DynamoItem few;
  add_record(few, 1, 29 * 24);
  add_record(few, 2, 31 * 24);
  REQUIRE(outdated_slots(few, slot_of_host(999), kNowMs) == std::vector{slot_of_host(2)});
}

TEST_CASE("DynamoRecords: above what an item has room for, the oldest go whatever their age",
          "[dynamo]") {
  DynamoItem item;
  for (std::size_t host = 0; host < kRoomForDynamoRecords; ++host) add_record(item, host, 1);
  add_record(item, kRoomForDynamoRecords, 2);
  REQUIRE(outdated_slots(item, slot_of_host(999), kNowMs) ==
          std::vector{slot_of_host(kRoomForDynamoRecords)});
}

}  // namespace
}  // namespace seqd
