#include "daemon/main/config/config_page.h"

#include <algorithm>
#include <cstdlib>

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

Configuration parsed(const std::string& text, const ConfigurationRequest& request = {}) {
  Result<Configuration> configuration = parse_configuration(text, "/etc/seqd/seqd.toml", request);
  INFO(configuration.status().text());
  REQUIRE(configuration.ok());
  return std::move(*configuration);
}

const ConfigTable* find(const ConfigPage& page, const std::string& name) {
  for (const ConfigTable& table : page.tables)
    if (table.name == name) return &table;
  return nullptr;
}

// "VALUE FROM LINE", and " waits".
std::string said(const ConfigPage& page, const std::string& name, const std::string& key) {
  const ConfigTable* const table = find(page, name);
  if (table == nullptr) return "no table";
  for (const ConfigOption& option : table->options) {
    if (option.key == key)
      return option.value + " " + option.from + " " + std::to_string(option.line) +
             (option.waits ? " waits" : "");
  }
  return "no option";
}

constexpr const char* kText =
    "[daemon]\n"
    "admins = [\"root\"]\n"
    "[limits]\n"
    "max_count = 500\n"
    "[store.main]\n"
    "timeout = \"2s\"\n"
    "[sequence_defaults]\n"
    "lease_min = 20\n"
    "[sequence.orders]\n"
    "max_value = 900\n"
    "[sequence.\"inv-*\"]\n"
    "lease_min = 30\n";

TEST_CASE("ConfigSaysWhereEachValueIsFrom") {
  ConfigurationRequest request;
  request.socket = "/tmp/other.sock";
  const ConfigPage page = config_page(parsed(kText, request), "");
  CHECK(page.file == "/etc/seqd/seqd.toml");
  CHECK(page.after.empty());
  CHECK(said(page, "daemon", "socket") == "\"/tmp/other.sock\" command line 0");
  CHECK(said(page, "daemon", "admins") == "[\"root\"] file 2");
  CHECK(said(page, "daemon", "stop_timeout") == "\"10s\" default 0");
  CHECK(said(page, "limits", "max_count") == "500 file 4");
  CHECK(said(page, "store.main", "timeout") == "\"2s\" file 6");
  CHECK(said(page, "store.main", "path") == "\"/var/lib/seqd/sequences.db\" default 0");
  CHECK(said(page, "sequence_defaults", "lease_min") == "20 file 8");
  CHECK(said(page, "sequence_defaults", "reuse") == "\"never\" default 0");
  CHECK(said(page, "sequence.\"orders\"", "max_value") == "900 file 10");
  CHECK(find(page, "sequence.\"orders\"")->options.size() == 1);
}

TEST_CASE("ConfigOfASequenceSaysWhatItInherits") {
  const Configuration configuration = parsed(kText);
  const auto orders = config_of_sequence(configuration, "orders");
  REQUIRE(orders.ok());
  const std::string table = "sequence.\"orders\"";
  CHECK(said(*orders, table, "max_value") == "900 file 10");
  CHECK(said(*orders, table, "lease_min") == "20 sequence_defaults 0");
  CHECK(said(*orders, table, "lease_max") == "1000000 default 0");
  CHECK(said(*orders, table, "key") == "\"orders\" default 0");
  const auto invoices = config_of_sequence(configuration, "inv-7");
  REQUIRE(invoices.ok());
  CHECK(said(*invoices, "sequence.\"inv-*\"", "lease_min") == "30 file 12");
  const auto unlisted = config_of_sequence(configuration, "unlisted");
  REQUIRE(unlisted.ok());
  CHECK(said(*unlisted, "sequence_defaults", "lease_min") == "20 file 8");
  const Configuration closed = parsed("[daemon]\nallow_unlisted = false\n");
  CHECK(config_of_sequence(closed, "unlisted").status().code() == ErrorCode::NO_SEQUENCE);
  CHECK(config_of_sequence(closed, "orders@2026-11-26").status().code() == ErrorCode::NO_SEQUENCE);
}

TEST_CASE("ConfigSaysWhatWaitsForARestart") {
  Configuration running = parsed(kText);
  Configuration next = parsed(
      "[daemon]\ndefault_store = \"main\"\n\nhistory = false\nadmins = [\"@root\"]\n"
      "[limits]\nmax_count = 600\n"
      "[store.main]\ntimeout = \"3s\"\n[store.other]\npath = \"/o\"\n"
      "[sequence.orders]\ncollection = \"c\"\nmax_value = 800\n"
      "[sequence.new]\nstore = \"other\"\n");
  prepare_reload(running, next, {"orders"});
  const ConfigPage page = config_page(next, "");
  CHECK(said(page, "daemon", "history") == "true default 0 waits");
  CHECK(said(page, "daemon", "admins") == "[\"@root\"] file 5");
  CHECK(said(page, "limits", "max_count") == "600 file 7");
  CHECK(said(page, "store.main", "timeout") == "\"2s\" file 0 waits");
  CHECK(find(page, "store.other") == nullptr);
  CHECK(said(page, "sequence.\"orders\"", "collection") == "\"counters\" earlier 0 waits");
  CHECK(said(page, "sequence.\"orders\"", "max_value") == "800 file 14");
  CHECK(said(page, "sequence.\"new\"", "store") == "\"other\" file 16 waits");
  const auto orders = config_of_sequence(next, "orders");
  REQUIRE(orders.ok());
  CHECK(said(*orders, "sequence.\"orders\"", "collection") == "\"counters\" earlier 0 waits");
  CHECK(config_of_sequence(next, "new").status().code() == ErrorCode::NO_SEQUENCE);
  // What was put back waits no more.
  Configuration again = parsed(kText);
  prepare_reload(next, again, {"orders"});
  for (const ConfigTable& table : config_page(again, "").tables)
    for (const ConfigOption& option : table.options) CHECK_FALSE(option.waits);
}

TEST_CASE("ConfigComesInPages") {
  std::string text;
  for (int at = 0; at < 250; ++at)
    text += "[sequence.\"s" + std::to_string(1'000 + at) + "\"]\nlease_min = 5\n";
  const Configuration configuration = parsed(text);
  std::vector<std::string> names;
  std::string after;
  int pages = 0;
  do {
    const ConfigPage page = config_page(configuration, after);
    CHECK(page.tables.size() <= kConfigTablesAPage + 4);
    for (const ConfigTable& table : page.tables) names.push_back(table.name);
    REQUIRE((page.after.empty() || page.after > after));
    after = page.after;
  } while (++pages < 10 && !after.empty());
  CHECK(pages == 3);
  CHECK(names.size() == 254);
  CHECK(std::is_sorted(names.begin() + 4, names.end()));
  CHECK(config_page(configuration, "t").tables.empty());
}

TEST_CASE("NoSecretStandsInAPageOfTheConfiguration") {
  const Configuration configuration = parsed(
      "[store.m]\ntype = \"mongodb\"\nuri = \"mongodb://alice:hunter2@h1:27017/db?p=hunter2\"\n");
  const ConfigPage page = config_page(configuration, "");
  CHECK(said(page, "store.m", "uri") == "\"mongodb://***@h1:27017/db?***\" file 3");
  for (const ConfigTable& table : page.tables) {
    for (const ConfigOption& option : table.options) {
      CHECK(option.value.find("hunter2") == std::string::npos);
      CHECK(option.value.find("alice") == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace seqd
