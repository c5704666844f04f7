// The pattern of a name is looked for among the patterns alone.
#include "daemon/main/config/sequences/pattern_list.h"

#include <string>

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

TEST_CASE("TheLongestPatternIsFoundInWhateverOrderTheyWereAdded") {
  PatternList patterns;
  CHECK(patterns.find("shop.a") == nullptr);
  for (const char* const one : {"shop.*", "*", "shop.?.daily", "bill*"}) patterns.add(one);
  CHECK(*patterns.find("shop.a.daily") == "shop.?.daily");
  CHECK(*patterns.find("shop.a") == "shop.*");
  CHECK(*patterns.find("orders") == "*");
}

// Anybody who may connect can ask about names that there are not, a thousand in one request.
TEST_CASE("ANameWithoutATableIsComparedWithPatternsAloneHoweverManyTablesThereAre") {
  std::string text = "[sequence.\"shop.*\"]\n[sequence.\"bills.*\"]\n";
  for (int number = 0; number < 2'000; ++number)
    text += "[sequence.\"single" + std::to_string(number) + "\"]\n";
  const Configuration configuration = configuration_of(text);
  const auto comparisons = [&](const std::string& name) {
    const std::uint64_t before = configuration.patterns.compared();
    static_cast<void>(configuration.find_access(name));
    static_cast<void>(configuration.find_format(name));
    static_cast<void>(configuration.find(name));
    static_cast<void>(configuration.find_named_table(name));
    return configuration.patterns.compared() - before;
  };
  CHECK(comparisons("unknown") == 8);
  CHECK(comparisons("shop.a") <= 8);
  CHECK(comparisons("single7") == 0);
  CHECK(configuration.find_named_table("shop.a").name == "shop.*");
  CHECK(configuration.find_named_table("single7").name == "single7");
  CHECK(configuration.find_named_table("unknown").name.empty());
}

}  // namespace
}  // namespace seqd
