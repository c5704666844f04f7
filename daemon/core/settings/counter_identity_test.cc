#include "daemon/core/settings/counter_identity.h"

#include <limits>
#include <memory>
#include <vector>

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

TEST_CASE("ProgressionOfACounterIsReadOfItsText", "[core]") {
  using Form = IdProgression::Form;
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  const auto progression = [](const Form& form) {
    ProgressionSettings settings;
    settings.compiled = std::make_shared<const IdProgression>(form);
    return settings;
  };
  const std::vector<Form> forms = {{10, 5, 0, 99, false},
                                   {3, -1, 1, 4, true},
                                   {kLowest, kHighest, kLowest, kHighest, true},
                                   {kHighest, kLowest, kLowest, kHighest, false}};
  for (const char* key : {"orders", "a last start=1 increment=2", "a start=1 increment=1 b"}) {
    for (const Meaning meaning : {Meaning::last, Meaning::next, Meaning::unset}) {
      CounterBinding counter;
      counter.key = key;
      counter.meaning = meaning;
      CHECK(held_progression(binding_text(counter), {}) == nullptr);
      CHECK(held_progression(binding_text(counter), progression(forms[0])) == nullptr);
      for (const Form& form : forms) {
        const ProgressionSettings own = progression(form);
        const std::string held = binding_text(counter, own);
        CHECK(held_progression(held, own) == own.compiled);
        const auto read = held_progression(held, {});
        REQUIRE(read != nullptr);
        CHECK(read->text() == own.compiled->text());
        for (const std::int64_t ordinal : {1, 2, 3})
          CHECK(read->value(ordinal) == own.compiled->value(ordinal));
      }
    }
  }
  for (const char* wrong :
       {"c k=a n last start=1", "c k=a n last start=1 increment=0",
        "c k=a n last start=1 increment=2x", "c k=a n last start=5 increment=1 min=6 max=9 cycle",
        "c k=a n first start=1 increment=2", "c k=a n last start=99999999999999999999 increment=1",
        "c k=a n last start= increment=1"}) {
    INFO(wrong);
    CHECK(held_progression(wrong, {}) == nullptr);
  }
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
