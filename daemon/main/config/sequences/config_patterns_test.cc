#include "daemon/main/config/sequences/config_patterns.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace seqd {
namespace {

TEST_CASE("PatternsMatchAsAShellDoes") {
  CHECK(matches_pattern("*", ""));
  CHECK(matches_pattern("*", "anything"));
  CHECK(matches_pattern("tenant-*", "tenant-"));
  CHECK(matches_pattern("tenant-*", "tenant-42"));
  CHECK(!matches_pattern("tenant-*", "tenant"));
  CHECK(matches_pattern("a?c", "abc"));
  CHECK(!matches_pattern("a?c", "ac"));
  CHECK(!matches_pattern("a?c", "abbc"));
  CHECK(matches_pattern("*.orders", "eu.west.orders"));
  CHECK(matches_pattern("a*b*c", "aXbYbZc"));
  CHECK(!matches_pattern("a*b*c", "aXbYbZ"));
  CHECK(matches_pattern("", ""));
  CHECK(!matches_pattern("", "a"));
}

TEST_CASE("APatternMadeToBacktrackEndsSoon") {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "a*";
  CHECK(!matches_pattern(pattern + "b", std::string(128, 'a')));
}

// Every text of up to `length` letters a and b, and with `extra` letters.
std::vector<std::string> texts(const std::string& letters, std::size_t length) {
  std::vector<std::string> out = {""};
  for (std::size_t begin = 0, round = 0; round < length; ++round) {
    const std::size_t end = out.size();
    for (std::size_t i = begin; i < end; ++i)
      for (const char c : letters) out.push_back(out[i] + c);
    begin = end;
  }
  return out;
}

TEST_CASE("TwoPatternsOverlapExactlyWhenSomeNameMatchesBoth") {
  const auto patterns = texts("ab*?", 3);
  const auto names = texts("ab", 6);
  std::vector<std::vector<bool>> matched;
  for (const auto& pattern : patterns) {
    matched.emplace_back();
    for (const auto& name : names) matched.back().push_back(matches_pattern(pattern, name));
  }
  int overlapping = 0;
  int wrong = 0;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    for (std::size_t j = 0; j < patterns.size(); ++j) {
      bool both = false;
      for (std::size_t n = 0; n < names.size() && !both; ++n) both = matched[i][n] && matched[j][n];
      overlapping += both ? 1 : 0;
      wrong += both != patterns_overlap(patterns[i], patterns[j]) ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
  CHECK(overlapping > 100);
}

}  // namespace
}  // namespace seqd
