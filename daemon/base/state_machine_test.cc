#include "daemon/base/state_machine.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

enum class Door : std::uint8_t { open, shut, locked };

constexpr StateTable<Door> kDoor = {
    {Door::open, "open", {Door::shut}},
    {Door::shut, "shut", {Door::open, Door::locked}},
    {Door::locked, "locked", {}},
};

// A table costs nothing at the start of the process.
static_assert(kDoor.allows(Door::shut, Door::locked));

TEST_CASE("TableAllowsItsMovesAndNoOthers", "[state_machine]") {
  CHECK(kDoor.allows(Door::open, Door::shut));
  CHECK(kDoor.allows(Door::shut, Door::open));
  CHECK_FALSE(kDoor.allows(Door::open, Door::locked));
  CHECK_FALSE(kDoor.allows(Door::locked, Door::open));
  CHECK_FALSE(kDoor.allows(Door::open, Door::open));
}

TEST_CASE("EachStateHasItsName", "[state_machine]") {
  CHECK(kDoor.name(Door::open) == "open");
  CHECK(kDoor.name(Door::locked) == "locked");
}

TEST_CASE("StateIsThatOfTheLastMove", "[state_machine]") {
  StateMachine<Door> door(kDoor, Door::open);
  CHECK(door == Door::open);
  door.move_to(Door::shut);
  CHECK(door != Door::open);
  door.move_to(Door::locked);
  CHECK(door.state() == Door::locked);
}

}  // namespace
}  // namespace seqd
