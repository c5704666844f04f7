#include "daemon/main/config/config.h"
#include "daemon/main/config/config_stores.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("ADumpReadAgainGivesTheSameConfiguration") {
  const auto configuration = parse_configuration(
      "[daemon]\nsocket_mode = \"0600\"\n[limits]\nidle_timeout = 0\n"
      "[store.a]\npath = \"/a \\\" b\"\n[store.b]\npath = \"/b\"\ntimeout = \"1500ms\"\n"
      "[sequence_defaults]\nstore = \"b\"\nmeaning = \"next\"\n"
      "[sequence.\"t-*\"]\nmax_available = 50\n[sequence.orders]\nstore = \"a\"\nkey = \"o\"\n"
      "[store.default]\n",
      "f", {});
  REQUIRE(configuration.ok());
  const auto again = parse_configuration(dump_effective(*configuration), "g", {});
  INFO(again.status().text());
  REQUIRE(again.ok());
  CHECK(again->daemon == configuration->daemon);
  CHECK(again->limits == configuration->limits);
  CHECK(again->stores == configuration->stores);
  for (const char* name : {"t-1", "orders", "other"})
    CHECK(*again->find(name) == *configuration->find(name));
  CHECK(dump_effective(*again).substr(3) == dump_effective(*configuration).substr(3));
}

TEST_CASE("NoSecretStandsInADumpOrASummary") {
  const auto configuration = parse_configuration(
      "[store.m]\ntype = \"mongodb\"\n"
      "uri = \"mongodb://alice:hunter2@h1:27017,h2/db?tlsCertificateKeyFilePassword=hunter2\"\n",
      "f", {});
  REQUIRE(configuration.ok());
  for (const std::string& text : {dump_effective(*configuration), summarize(*configuration)}) {
    CHECK(text.find("hunter2") == std::string::npos);
    CHECK(text.find("alice") == std::string::npos);
    CHECK(text.find("mongodb://***@h1:27017,h2/db?***") != std::string::npos);
  }
}

// What the packages' scripts look for (packaging/debian/after-upgrade).
TEST_CASE("ASummaryHasTheAddressOfTheMetrics") {
  const auto with = parse_configuration("[daemon]\nmetrics_address = \"[::1]:9464\"\n", "f", {});
  REQUIRE(with.ok());
  CHECK(summarize(*with).find("\nmetrics: http://[::1]:9464/metrics\n") != std::string::npos);
  const auto without = parse_configuration("", "f", {});
  REQUIRE(without.ok());
  CHECK(summarize(*without).find("metrics") == std::string::npos);
}

TEST_CASE("AUriIsMaskedWhateverItsForm") {
  CHECK(mask_uri("mongodb://h/") == "mongodb://h/");
  CHECK(mask_uri("mongodb+srv://u:p@ss@h") == "mongodb+srv://***@h");
  CHECK(mask_uri("mongodb://u:p/w?x@h/db?a=b") == "mongodb://***@h/db?***");
  CHECK(mask_uri("mongodb://h/?user=a@secret") == "mongodb://***@secret");
  CHECK(mask_uri("no uri at all") == "***");
  CHECK(mask_uri("") == "***");
}

}  // namespace
}  // namespace seqd
