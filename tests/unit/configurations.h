// Configurations from text, for the tests of what is in them. One thread.
#pragma once

#include <string>
#include <utility>

#include "daemon/main/config/config.h"

#include <catch2/catch.hpp>

namespace seqd {

// Of a text that is good, as the file "f".
inline Configuration configuration_of(const std::string& text) {
  Result<Configuration> configuration = parse_configuration(text, "f", {});
  INFO(configuration.status().text());
  REQUIRE(configuration.ok());
  return std::move(*configuration);
}

// What is said of a text that is not.
inline std::string problems_of(const std::string& text) {
  const Result<Configuration> configuration = parse_configuration(text, "f", {});
  REQUIRE_FALSE(configuration.ok());
  return configuration.status().text();
}

}  // namespace seqd
