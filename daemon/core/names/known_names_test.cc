#include "daemon/core/names/known_names.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

namespace seqd {
namespace {

struct Thing {
  std::string text;
  const std::string& name() const { return text; }
};

std::vector<std::unique_ptr<Thing>> things(std::size_t count, const std::string& before = "tenant-",
                                           const std::string& behind = ".orders",
                                           std::size_t digits = 1) {
  std::vector<std::unique_ptr<Thing>> made;
  for (std::size_t at = 0; at < count; ++at) {
    std::string number = std::to_string(at);
    number.insert(0, digits - std::min(number.size(), digits), '0');
    made.push_back(std::make_unique<Thing>(Thing{before + number + behind}));
  }
  return made;
}

}  // namespace

TEST_CASE("KnownNamesFindsWhatItKeeps", "[known_names]") {
  KnownNames<Thing> known;
  CHECK(known.find("a") == nullptr);
  std::vector<std::unique_ptr<Thing>> made;
  std::string text;
  for (const char letter : std::string("abcdefghijklmnopqrstuvwxyz")) {
    text += letter;
    made.push_back(std::make_unique<Thing>(Thing{text}));
    known.keep(*made.back(), 26);
    CHECK(known.find(text) == made.back().get());
  }
  CHECK(known.find("") == nullptr);
  CHECK(known.find("abd") == nullptr);
  CHECK(known.find(std::string("abcdefgh\0", 9)) == nullptr);
}

// Wherever the number is that they differ by.
TEST_CASE("KnownNamesFindsNearlyAllOfMany", "[known_names]") {
  const std::string before = GENERATE("", "a", "t-", "order-", "orders-", "sequence-",
                                      "a-name-that-is-longer-than-two-words-");
  const std::string behind = GENERATE("", "x", ".orders", ".orders-of-a-tenant");
  const auto digits = GENERATE(as<std::size_t>{}, 1, 4, 6, 8, 12);
  CAPTURE(before, behind, digits);
  const auto made = things(10'000, before, behind, digits);
  KnownNames<Thing> known;
  for (const auto& one : made) known.keep(*one, made.size());
  std::size_t found = 0;
  for (const auto& one : made) {
    Thing* const there = known.find(one->name());
    CHECK((there == nullptr || there == one.get()));
    found += there == nullptr ? 0 : 1;
  }
  CHECK(found > 9'500);
}

TEST_CASE("KnownNamesForgetsWhatIsDropped", "[known_names]") {
  const auto made = things(2);
  KnownNames<Thing> known;
  known.drop(*made[0]);
  for (const auto& one : made) known.keep(*one, 2);
  known.drop(*made[0]);
  CHECK(known.find(made[0]->name()) == nullptr);
  CHECK(known.find(made[1]->name()) == made[1].get());
}

// A bucket keeps the newest ones; an older one with the same name is not found instead.
TEST_CASE("KnownNamesIsBounded", "[known_names]") {
  const auto made = things(5'000);
  KnownNames<Thing> known;
  for (const auto& one : made) {
    known.keep(*one, 1);  // as few places as there can be
    CHECK(known.find(one->name()) == one.get());
  }
  std::size_t found = 0;
  for (const auto& one : made) found += known.find(one->name()) == nullptr ? 0 : 1;
  CHECK(found <= 64);
  CHECK(found > 32);
}

}  // namespace seqd
