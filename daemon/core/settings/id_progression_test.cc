#include "daemon/core/settings/id_progression.h"

#include <rapidcheck.h>

#include <algorithm>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
using Place = IdProgression::Place;
using Runs = std::vector<Run>;

Runs runs_of(const IdProgression& progression, std::int64_t ordinal, std::int64_t count) {
  Runs runs;
  progression.append_runs(ordinal, count, runs);
  return runs;
}

TEST_CASE("ValuesBeginAtStartAndGoByTheIncrement", "[progression]") {
  const IdProgression up({.start = 10, .increment = 5, .min = 0, .max = 32, .cycle = false});
  CHECK(up.ordinals() == 5);
  CHECK(up.value(1) == 10);
  CHECK(up.value(5) == 30);
  const IdProgression down({.start = 3, .increment = -2, .min = -4, .max = 10, .cycle = false});
  CHECK(down.ordinals() == 4);
  CHECK(down.value(1) == 3);
  CHECK(down.value(4) == -3);
}

TEST_CASE("CycleRestartsAtTheOtherEnd", "[progression]") {
  const IdProgression up({.start = 8, .increment = 3, .min = 1, .max = 12, .cycle = true});
  const std::vector<std::int64_t> expected = {8, 11, 1, 4, 7, 10, 1, 4};
  for (std::size_t at = 0; at < expected.size(); ++at)
    CHECK(up.value(static_cast<std::int64_t>(at) + 1) == expected[at]);
  CHECK(up.ordinals() == kLastOrdinal);
  const IdProgression down({.start = 2, .increment = -1, .min = 1, .max = 3, .cycle = true});
  CHECK(runs_of(down, 1, 6) == Runs{{2, 2, -1}, {3, 3, -1}, {3, 1, -1}});
}

TEST_CASE("NewestPlaceOfAValueIsFoundAndCounted", "[progression]") {
  const IdProgression progression({.start = 8, .increment = 3, .min = 1, .max = 12, .cycle = true});
  CHECK(progression.find(8, 100) == Place{1, 1});  // before the first turn, never again
  CHECK(progression.find(4, 4) == Place{4, 0});
  CHECK(progression.find(4, 5) == Place{4, 1});
  CHECK(progression.find(4, 9) == Place{8, 2});
  CHECK_FALSE(progression.find(5, 100));
  CHECK_FALSE(progression.find(13, 100));
  CHECK(progression.find_from(4, 1) == 4);
  CHECK(progression.find_from(4, 5) == 8);
  CHECK_FALSE(progression.find_from(8, 2));
  const IdProgression straight({.start = 10, .increment = 5, .min = 0, .max = 32, .cycle = false});
  CHECK(straight.find(20, 1) == Place{3, 0});
  CHECK_FALSE(straight.find(5, 100));
  CHECK_FALSE(straight.find(35, 6));
  CHECK(straight.find(35, 100) == Place{6, 1});  // the bound was further away once
}

TEST_CASE("WhatWasIssuedUnderAFurtherBoundKeepsItsValue", "[progression]") {
  const IdProgression lowered({.start = 1, .increment = 2, .min = 1, .max = 49, .cycle = false});
  CHECK(lowered.value(40) == 79);
  CHECK(runs_of(lowered, 20, 21) == Runs{{39, 21, 2}});
  CHECK(lowered.find(79, 41) == Place{40, 1});
  CHECK_FALSE(lowered.find(79, 40));
  CHECK_FALSE(lowered.find(80, 41));
  CHECK_FALSE(lowered.find_from(79, 1));
  const IdProgression raised({.start = -1, .increment = -1, .min = -5, .max = -1, .cycle = false});
  CHECK(raised.value(9) == -9);
  CHECK(raised.find(-9, 10) == Place{9, 1});
  const IdProgression edge({kHighest - 3, 2, 1, kHighest - 2, false});
  CHECK(edge.value(3) == kHighest);
}

TEST_CASE("WholeOfInt64IsCountedWithoutOverflow", "[progression]") {
  for (const bool cycle : {false, true}) {
    CAPTURE(cycle);
    const IdProgression up({kLowest, 1, kLowest, kHighest, cycle});
    CHECK(up.ordinals() == kLastOrdinal);
    CHECK(up.value(1) == kLowest);
    CHECK(up.value(kLastOrdinal) == -3);
    CHECK(up.find(-3, 5) == Place{kLastOrdinal, 0});
    CHECK_FALSE(up.find(0, 5));
    CHECK(up.value_near(0) == kLowest);
    const IdProgression down({kHighest, -1, kLowest, kHighest, cycle});
    CHECK(down.value(kLastOrdinal) == 2);
    CHECK(down.value_near(0) == kHighest);
  }
  const IdProgression stride({kLowest, kHighest, kLowest, kHighest, true});
  CHECK(runs_of(stride, 1, 4) ==
        Runs{{kLowest, 2, kHighest}, {kHighest - 1, 1, kHighest}, {kLowest, 1, kHighest}});
  CHECK(stride.value(3) == kHighest - 1);
  CHECK(stride.value_near(0) == kLowest);
  const IdProgression back({kHighest, kLowest, kLowest, kHighest, false});
  CHECK(back.ordinals() == 2);
  CHECK(back.value(2) == -1);
  CHECK(back.value_near(4) == kLowest);
}

// Its length is 2^64, which the counter of its steps cannot hold.
TEST_CASE("CycleOverAllOfInt64RestartsAtTheOtherEnd", "[progression]") {
  const IdProgression up({kHighest - 1, 1, kLowest, kHighest, true});
  CHECK(up.value(2) == kHighest);
  CHECK(up.value(3) == kLowest);
  CHECK(up.value(4) == kLowest + 1);
  CHECK(runs_of(up, 1, 5) == Runs{{kHighest - 1, 2, 1}, {kLowest, 3, 1}});
  CHECK(runs_of(up, 4, 2) == Runs{{kLowest + 1, 2, 1}});
  CHECK(up.find(kLowest, 5) == Place{3, 1});
  CHECK(up.find_from(kLowest + 1, 1) == 4);
  CHECK_FALSE(up.find_from(kLowest, 4));
  CHECK(up.value(kLastOrdinal) == -5);
  const IdProgression down({kLowest, -1, kLowest, kHighest, true});
  CHECK(down.value(1) == kLowest);
  CHECK(down.value(2) == kHighest);
  CHECK(runs_of(down, 1, 3) == Runs{{kLowest, 1, -1}, {kHighest, 2, -1}});
  CHECK(down.find(kHighest, 2) == Place{2, 0});
}

TEST_CASE("TextTellsProgressionsApartWhoseOrdinalsMeanSomethingElse", "[progression]") {
  const IdProgression::Form form{10, 5, 0, 100, false};
  const std::string text = IdProgression(form).text();
  IdProgression::Form other = form;
  other.max = 200;  // the same values, only more of them
  CHECK(IdProgression(other).text() == text);
  other.increment = 4;
  CHECK(IdProgression(other).text() != text);
  other = form;
  other.start = 15;
  CHECK(IdProgression(other).text() != text);
  other = form;
  other.cycle = true;
  const std::string cycle = IdProgression(other).text();
  CHECK(cycle != text);
  other.max = 200;
  CHECK(IdProgression(other).text() != cycle);
}

// A progression of bounds and steps of every size, with starts at the bounds more often than not.
IdProgression any_progression() {
  const auto number = [] {
    return *rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                           rc::gen::inRange<std::int64_t>(-50, 50),
                           rc::gen::element(kLowest, kLowest + 1, kHighest - 1, kHighest));
  };
  IdProgression::Form form;
  const std::int64_t one = number();
  std::int64_t two = number();
  if (one == two) two = one == kHighest ? one - 1 : one + 1;
  form.min = std::min(one, two);
  form.max = std::max(one, two);
  const std::int64_t start = number();
  form.start = std::clamp(start, form.min, form.max);
  form.increment = number();
  if (form.increment == 0) form.increment = 1;
  form.cycle = *rc::gen::arbitrary<bool>();
  return IdProgression(form);
}

std::int64_t any_ordinal(const IdProgression& progression) {
  const std::int64_t last = progression.ordinals();
  const std::int64_t far = *rc::gen::arbitrary<std::int64_t>();
  const std::int64_t near = *rc::gen::inRange<std::int64_t>(1, 200);
  return *rc::gen::element(std::min(near, last), std::max<std::int64_t>(last - near, 1), last,
                           std::clamp<std::int64_t>(far < 0 ? -(far + 1) : far, 1, last));
}

TEST_CASE("ValueAndPositionAreInverse", "[progression]") {
  CHECK(rc::check([] {
    const IdProgression progression = any_progression();
    const std::int64_t ordinal = any_ordinal(progression);
    const std::int64_t value = progression.value(ordinal);
    RC_ASSERT(value >= progression.form().min && value <= progression.form().max);
    RC_ASSERT(value >= progression.lowest());
    RC_ASSERT(progression.find_from(value, ordinal) == ordinal);
    if (ordinal == kLastOrdinal) return;
    const auto place = progression.find(value, ordinal + 1);
    RC_ASSERT(place.has_value());
    RC_ASSERT(place->ordinal == ordinal && place->times >= 1);
    RC_ASSERT(progression.form().cycle || place->times == 1);
    const auto before = progression.find(value, ordinal);
    RC_ASSERT(before->times == place->times - 1);
    RC_ASSERT(before->times == 0 || progression.value(before->ordinal) == value);
  }));
}

TEST_CASE("EachValueIsTheIncrementFurtherOrACycleStartsAgain", "[progression]") {
  CHECK(rc::check([] {
    const IdProgression progression = any_progression();
    const std::int64_t ordinal = any_ordinal(progression);
    if (ordinal == progression.ordinals()) return;
    const std::int64_t value = progression.value(ordinal);
    const std::int64_t next = progression.value(ordinal + 1);
    const IdProgression::Form& form = progression.form();
    std::int64_t further = 0;
    const bool over = __builtin_add_overflow(value, form.increment, &further) ||
                      further < form.min || further > form.max;
    if (over) {
      RC_ASSERT(form.cycle);
      RC_ASSERT(next == (form.increment > 0 ? form.min : form.max));
    } else {
      RC_ASSERT(next == further);
    }
  }));
}

TEST_CASE("RunsAreTheValuesOneByOne", "[progression]") {
  CHECK(rc::check([] {
    const IdProgression progression = any_progression();
    const std::int64_t ordinal = any_ordinal(progression);
    const std::int64_t count =
        std::min<std::int64_t>(*rc::gen::inRange(1, 60), progression.ordinals() - ordinal + 1);
    std::int64_t at = ordinal;
    for (const Run& run : runs_of(progression, ordinal, count)) {
      RC_ASSERT(run.step == progression.form().increment);
      std::int64_t way = 0;
      RC_ASSERT(!__builtin_mul_overflow(run.count - 1, run.step, &way));
      for (std::int64_t i = 0; i < run.count; ++i)
        RC_ASSERT(progression.value(at++) == run.first + i * run.step);
    }
    RC_ASSERT(at == ordinal + count);
  }));
}

}  // namespace
}  // namespace seqd
