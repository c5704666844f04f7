#include "daemon/main/config/config_dynamo.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/main/config/config.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

class Scratch {
 public:
  Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "seqd-aws-XXXXXX";
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
                                   "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"})
      unsetenv(name);
    const char* const home = std::getenv("HOME");
    home_ = home == nullptr ? "" : home;
    setenv("HOME", path_.c_str(), 1);
  }
  ~Scratch() {
    std::filesystem::remove_all(path_);
    setenv("HOME", home_.c_str(), 1);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const std::string& content, mode_t mode = 0600) const {
    const std::string path = path_ + "/credentials";
    std::ofstream(path, std::ios::binary) << content;
    REQUIRE(chmod(path.c_str(), mode) == 0);
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string home_;
};

constexpr char kProfile[] = "[ids]\naws_access_key_id = AKID\naws_secret_access_key = hunter2\n";

std::string table(const std::string& more) {
  return "[store.aws]\ntype = \"dynamodb\"\nregion = \"eu-central-1\"\n" + more;
}

Result<Configuration> parse(const std::string& text, bool need_credentials = true) {
  ConfigurationRequest request;
  request.need_credentials = need_credentials;
  return parse_configuration(text, "f", request);
}

TEST_CASE("ADynamoStoreTakesItsCredentialsFromAFile") {
  const Scratch scratch;
  const std::string path = scratch.file(kProfile, 0644);
  const auto found =
      parse(table("aws_credentials_file = \"" + path + "\"\naws_profile = \"ids\"\n"));
  INFO(found.status().to_string());
  REQUIRE(found.ok());
  REQUIRE(found->warnings.size() == 1);  // everybody may read it
  const auto read = read_dynamo_credentials(found->stores.at("aws"));
  REQUIRE(read.ok());
  CHECK(read->credentials == AwsCredentials{"AKID", "hunter2", ""});
  CHECK(dump_effective(*found).find("hunter2") == std::string::npos);
  CHECK(summarize(*found).find("dynamodb https://dynamodb.eu-central-1.amazonaws.com") !=
        std::string::npos);
}

TEST_CASE("ADynamoStoreTakesItsCredentialsFromSystemd") {
  const Scratch scratch;
  scratch.file(kProfile);
  const std::string text = table("aws_credentials_file = \"credentials\"\naws_profile = \"ids\"\n");
  setenv("CREDENTIALS_DIRECTORY", scratch.path().c_str(), 1);
  const auto by_systemd = parse(text);
  REQUIRE(by_systemd.ok());
  const auto read = read_dynamo_credentials(by_systemd->stores.at("aws"));
  unsetenv("CREDENTIALS_DIRECTORY");
  REQUIRE(read.ok());
  CHECK(read->credentials == AwsCredentials{"AKID", "hunter2", ""});
  CHECK(parse(text).status().text().find("store.aws.aws_credentials_file: ") != std::string::npos);
}

TEST_CASE("ADynamoStoreThatNamesNoCredentialsLooksForThemWhenItNeedsThem") {
  const Scratch scratch;
  const auto found = parse(table("aws_profile = \"ids\"\n"));
  REQUIRE(found.ok());
  CHECK(found->warnings.empty());
}

TEST_CASE("ACheckInAShellDoesNotNeedTheCredentials") {
  const Scratch scratch;
  for (const char* const text : {"[store.aws]\ntype = \"dynamodb\"\n",
                                 "[store.aws]\ntype = \"dynamodb\"\nregion = "
                                 "\"x\"\naws_credentials_file = \"credentials\"\n"}) {
    const auto found = parse(text, false);
    REQUIRE(found.ok());
    REQUIRE(found->warnings.size() == 1);
  }
}

TEST_CASE("TheRegionIsThatOfTheEnvironmentOrTheProfileWhereItIsNotGiven") {
  const Scratch scratch;
  const std::string bare = "[store.aws]\ntype = \"dynamodb\"\n";
  const auto region = [](const std::string& text) {
    const auto found = parse(text);
    return found.ok() ? found->stores.at("aws").region : found.status().text();
  };
  CHECK(region(bare).find("store.aws.region: allowed is") != std::string::npos);
  std::filesystem::create_directory(scratch.path() + "/.aws");
  std::ofstream(scratch.path() + "/.aws/config")
      << "[default]\nregion = eu-west-1\n[profile ids]\nregion = eu-west-2\n"
      << "[profile bad]\nregion = EU\n";
  CHECK(region(bare) == "eu-west-1");
  CHECK(region(bare + "aws_profile = \"ids\"\n") == "eu-west-2");
  CHECK(region(bare + "aws_profile = \"bad\"\n").find("allowed is") != std::string::npos);
  setenv("AWS_PROFILE", "ids", 1);
  CHECK(region(bare) == "eu-west-2");
  setenv("AWS_DEFAULT_REGION", "eu-west-3", 1);
  CHECK(region(bare) == "eu-west-3");
  setenv("AWS_REGION", "eu-west-4", 1);
  CHECK(region(bare) == "eu-west-4");
  CHECK(region(bare + "region = \"eu-west-5\"\n") == "eu-west-5");
  for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"}) unsetenv(name);
}

TEST_CASE("WhatADynamoStoreCannotUseIsReportedByLineAndKey") {
  const Scratch scratch;
  const std::string file =
      "aws_credentials_file = \"" + scratch.file(kProfile) + "\"\naws_profile = \"ids\"\n";
  struct Row {
    std::string text;
    std::string problem;
  };
  const std::vector<Row> rows = {
      {"[store.aws]\ntype = \"dynamodb\"\n" + file, "f:1: store.aws.region: allowed is the name"},
      {table(file + "endpoint = \"http://host/path\"\n"), "f:6: store.aws.endpoint: allowed is"},
      {table(file + "lease_mode = \"session\"\n"), "f:6: store.aws.lease_mode: found \"session\""},
      {table(file + "uri = \"mongodb://h/\"\n"),
       "f:6: store.aws.uri: is for stores of type \"mongodb\""},
      {table(file + "instances_key = \"seqd_x\"\n"), "f:6: store.aws.instances_key: "},
      {table(file + "instances_table = \"a b c\"\n"), "f:6: store.aws.instances_table: "},
      {table(file + "tls_ca_file = \"/dev/zero\"\n"),
       "f:6: store.aws.tls_ca_file: /dev/zero is not a regular file"},
      {table(file + "tls_ca_file = \"/nonexistent/x\"\n"),
       "f:6: store.aws.tls_ca_file: /nonexistent/x cannot be opened: No such file"},
      {table(file + "tls_ca_file = \"" + scratch.path() + "/credentials\"\n"),
       "f:6: store.aws.tls_ca_file: " + scratch.path() + "/credentials has no certificate"},
      {table("aws_credentials_file = \"/nonexistent/x\"\n"),
       "f:4: store.aws.aws_credentials_file: /nonexistent/x cannot be opened"},
      {table("aws_credentials_file = \"" + scratch.path() + "/credentials\"\n"),
       "f:4: store.aws.aws_credentials_file: there is no such profile"},
      {"[store.m]\ntype = \"sqlite\"\nregion = \"eu-central-1\"\nlease_mode = \"plain\"\n",
       "f:3: store.m.region: is for stores of type \"dynamodb\""},
      {"[store.m]\ntype = \"sqlite\"\nlease_mode = \"plain\"\n",
       "f:3: store.m.lease_mode: is for stores of type \"mongodb\" or \"dynamodb\""},
  };
  for (const Row& row : rows) {
    const Status status = parse(row.text).status();
    INFO(row.text << status.text());
    CHECK(status.code() == ErrorCode::CONFIG);
    CHECK(status.text().find(row.problem) != std::string::npos);
    CHECK(status.text().find("hunter2") == std::string::npos);
  }
}

TEST_CASE("AnEndpointInTheClearIsWarnedOfUnlessItIsThisHost") {
  const Scratch scratch;
  const std::string file =
      "aws_credentials_file = \"" + scratch.file(kProfile) + "\"\naws_profile = \"ids\"\n";
  CHECK(parse(table(file + "endpoint = \"http://127.0.0.1:8000\"\n"))->warnings.empty());
  CHECK(parse(table(file + "endpoint = \"https://db.example\"\n"))->warnings.empty());
  CHECK(parse(table(file + "endpoint = \"http://db.example:8000\"\n"))->warnings.size() == 1);
}

}  // namespace
}  // namespace seqd
