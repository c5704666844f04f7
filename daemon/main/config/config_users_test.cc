// The lists of users and groups of seqd.toml: admins, allow and deny.
#include <catch2/catch.hpp>
#include <string>

#include "daemon/main/config/config.h"
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

Result<Configuration> read(const std::string& text) {
  return parse_configuration(text, "seqd.toml", {});
}

std::string problem_of(const std::string& text) {
  return read(text).status().text();
}

TEST_CASE("WithoutListsOnlyRootAndTheDaemonAdministerAndEverybodyTakes", "[config]") {
  const Configuration configuration = read("").value();
  CHECK_FALSE(configuration.daemon.admins.compiled.contains({1'000, 1, {0, 1'000}}));
  const AccessSettings* access = configuration.find_access("orders");
  REQUIRE(access != nullptr);
  CHECK(access->allow.compiled.contains({1'000, 1, {}}));
  CHECK_FALSE(access->deny.compiled.contains({1'000, 1, {}}));
}

TEST_CASE("ListsNameUsersAndGroupsByNameAndNumber", "[config]") {
  const Configuration configuration =
      read("[daemon]\nadmins = [\"root\", \"4711\", \"@root\", \"@77\"]\n").value();
  const UserList& admins = configuration.daemon.admins.compiled;
  CHECK(admins.users == std::vector<std::uint32_t>{0, 4'711});
  CHECK(admins.groups == std::vector<std::uint32_t>{0, 77});
  CHECK(admins.contains({1'000, 1, {5, 77}}));
  CHECK(admins.contains({4'711, 1, {}}));
  CHECK_FALSE(admins.contains({77, 1, {4'711}}));
}

TEST_CASE("TheTableOfASequenceReplacesTheListOfTheDefaults", "[config]") {
  const Configuration configuration =
      read(
          "[sequence_defaults]\nallow = [\"1000\"]\ndeny = [\"13\"]\n"
          "[sequence.\"open\"]\nallow = [\"*\"]\n[sequence.\"shut-*\"]\nallow = []\n")
          .value();
  const Peer other{1'001, 1, {}};
  CHECK_FALSE(configuration.find_access("orders")->allow.compiled.contains(other));
  CHECK(configuration.find_access("open")->allow.compiled.contains(other));
  CHECK(configuration.find_access("open")->deny.compiled.contains({13, 1, {}}));
  CHECK_FALSE(configuration.find_access("shut-1")->allow.compiled.contains({1'000, 1, {}}));
  CHECK(configuration.find("orders")->access.allow.compiled.contains({1'000, 1, {}}));
}

TEST_CASE("AnEmptyListIsDumpedAndReadAgainAsOne", "[config]") {
  const Configuration first =
      read("[daemon]\nadmins = [\"@root\", \"5\"]\n[sequence_defaults]\nallow = []\n").value();
  const std::string dumped = dump_effective(first);
  CHECK(dumped.find("admins = [\"@root\", \"5\"]\n") != std::string::npos);
  CHECK(dumped.find("allow = []\n") != std::string::npos);
  const Configuration second = read(dumped).value();
  CHECK(second.daemon.admins.compiled.groups == std::vector<std::uint32_t>{0});
  CHECK_FALSE(second.find_access("orders")->allow.compiled.everyone);
}

TEST_CASE("ANameThatDoesNotExistIsAnErrorWithItsLine", "[config]") {
  CHECK(problem_of("[daemon]\n\nadmins = [\"root\", \"no-such-user\"]\n") ==
        "seqd.toml:3: daemon.admins: found \"no-such-user\": there is no such user");
  CHECK(problem_of("[sequence.\"orders\"]\ndeny = [\"@no-such-group\"]\n") ==
        "seqd.toml:2: sequence.\"orders\".deny: found \"@no-such-group\": there is no such group");
}

TEST_CASE("WhatIsNoListOfUsersIsRefused", "[config]") {
  for (const char* value : {"\"root\"", "5", "true", "[5]", "[\"\"]", "[\"@\"]", "[\"a b\"]",
                            "[\"root\", \"*\"]", "[\"@*\"]", "[\"@@root\"]", "[[\"root\"]]"}) {
    INFO(value);
    const std::string problem = problem_of(std::string("[daemon]\nadmins = ") + value + "\n");
    CHECK(problem.find("seqd.toml:2: daemon.admins: ") == 0);
    CHECK(problem.find("allowed: an array of at most 256 users and @groups") != std::string::npos);
  }
}

TEST_CASE("ThatEverybodyMayAdministerIsWarnedOf", "[config]") {
  CHECK(read("[daemon]\nadmins = [\"*\"]\n")->warnings.size() == 1);
  CHECK(read("[daemon]\nadmins = [\"root\"]\n")->warnings.empty());
}

TEST_CASE("AReloadAppliesWhoMayTakeAndWhoAdministers", "[config]") {
  const Configuration running = read("[sequence.\"orders\"]\nallow = [\"1000\"]\n").value();
  REQUIRE(running.find("orders") != nullptr);
  Configuration next =
      read("[daemon]\nadmins = [\"5\"]\n[sequence.\"orders\"]\nallow = [\"1001\"]\n").value();
  const ConfigurationChanges changes = prepare_reload(running, next, {"orders"});
  CHECK(changes.applied == std::vector<std::string>{"daemon.admins", "sequence.\"orders\".allow"});
  CHECK(changes.restart_needed.empty());
  CHECK(next.find("orders")->access.allow.compiled.users == std::vector<std::uint32_t>{1'001});
  CHECK(next.daemon.admins.compiled.users == std::vector<std::uint32_t>{5});
}

}  // namespace
}  // namespace seqd
