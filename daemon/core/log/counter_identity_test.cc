#include "daemon/core/log/counter_identity.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("CountersAreComparedByTheirText", "[sequence_table]") {
  CounterBinding last;
  last.key = "a";
  last.meaning = Meaning::last;
  CounterBinding next = last;
  next.meaning = Meaning::next;
  REQUIRE(same_counter(binding_text(last), last));
  REQUIRE_FALSE(same_counter(binding_text(last), next));
  CounterBinding longer = last;
  longer.key = "ab";
  REQUIRE_FALSE(same_counter(binding_text(longer), last));
}

TEST_CASE("CounterFoundByANumberIsNotTheOneFoundByItsDigits", "[core]") {
  CounterBinding text;
  text.key = "261122";
  CounterBinding number = text;
  number.key_type = KeyType::integer;
  REQUIRE_FALSE(same_counter(binding_text(text), number));
  REQUIRE(same_counter(binding_text(number), number));
}

}  // namespace
}  // namespace seqd
