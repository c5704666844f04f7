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
    for (const char* const name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"})
      unsetenv(name);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
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

TEST_CASE("ADynamoStoreTakesItsCredentialsFromSystemdOrTheEnvironment") {
  const Scratch scratch;
  scratch.file(kProfile);
  setenv("CREDENTIALS_DIRECTORY", scratch.path().c_str(), 1);
  const auto by_systemd = parse(table("aws_credential = \"credentials\"\naws_profile = \"ids\"\n"));
  unsetenv("CREDENTIALS_DIRECTORY");
  INFO(by_systemd.status().to_string());
  CHECK(by_systemd.ok());

  CHECK(parse(table("")).status().text().find("AWS_SECRET_ACCESS_KEY") != std::string::npos);
  setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "hunter2", 1);
  setenv("AWS_SESSION_TOKEN", "token", 1);
  const auto by_environment = parse(table(""));
  REQUIRE(by_environment.ok());
  const auto read = read_dynamo_credentials(by_environment->stores.at("aws"));
  REQUIRE(read.ok());
  CHECK(read->credentials == AwsCredentials{"AKID", "hunter2", "token"});
  for (const char* const name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"})
    unsetenv(name);
}

TEST_CASE("ACheckInAShellDoesNotNeedTheCredentials") {
  const Scratch scratch;
  for (const char* const more : {"", "aws_credential = \"credentials\"\n"}) {
    const auto found = parse(table(more), false);
    REQUIRE(found.ok());
    REQUIRE(found->warnings.size() == 1);
    CHECK(found->warnings[0].find("not looked at") != std::string::npos);
  }
}

TEST_CASE("WhatADynamoStoreCannotUseIsToldByLineAndKey") {
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
      {table(file + "aws_credential = \"x\"\n"), "allowed: one of them, or neither"},
      {table(file + "tls_ca_file = \"/dev/zero\"\n"),
       "f:6: store.aws.tls_ca_file: /dev/zero is no regular file"},
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
