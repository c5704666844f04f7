#include "daemon/store/dynamo/credentials/aws_profiles.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr char kConfig[] =
    "[default]\n"
    "region = eu-central-1   # where we are\n"
    "s3 =\n"
    "  region = nowhere\n"
    "output = json\n"
    "[ids]\n"
    "region = not-a-profile\n"
    "[profile ids]\n"
    "region=eu-west-1\n"
    "  credential_process = /bin/x \"a b\" ; remark\n"
    "[profile \"with space\"]\n"
    "region = quoted\n"
    "[sso-session ids]\n"
    "region = of-a-session\n"
    "[profile ids]\n"
    "region = eu-north-1\n";

TEST_CASE("AwsProfiles: a profile of the config file has \"profile\" before its name", "[aws]") {
  const auto config = [](const std::string& profile) {
    return find_aws_profile(kConfig, AwsFile::config, profile);
  };
  REQUIRE(config("default") ==
          AwsProfile{{"region", "eu-central-1"}, {"s3", ""}, {"output", "json"}});
  REQUIRE(config("ids") ==
          AwsProfile{{"region", "eu-north-1"}, {"credential_process", "/bin/x \"a b\""}});
  REQUIRE(aws_property(*config("with space"), "region") == "quoted");
  REQUIRE_FALSE(config("sso-session ids").has_value());
  REQUIRE_FALSE(config("nobody").has_value());
  REQUIRE_FALSE(config("").has_value());
}

TEST_CASE("AwsProfiles: in the credentials file the name stands alone", "[aws]") {
  const auto found =
      find_aws_profile("[ ids ]\na = 1\nb\n= 3\n[profile x]\na = 2\n", AwsFile::credentials, "ids");
  REQUIRE(found.has_value());
  REQUIRE(aws_property(*found, "a") == "1");
  REQUIRE(aws_property(*found, "b").empty());
  const auto other = find_aws_profile("[profile x]\na = 2\n", AwsFile::credentials, "profile x");
  REQUIRE(aws_property(other.value(), "a") == "2");
}

TEST_CASE("AwsProfiles: [profile default] counts, wherever [default] stands", "[aws]") {
  for (const char* const text : {"[default]\na = 1\nb = 1\n[profile default]\na = 2\n",
                                 "[profile default]\na = 2\n[default]\na = 1\nb = 1\n"}) {
    REQUIRE(find_aws_profile(text, AwsFile::config, "default") == AwsProfile{{"a", "2"}});
  }
}

TEST_CASE("AwsProfiles: what is no profile gives nothing", "[aws]") {
  for (const char* const text : {"", "\n", "a = 1\n", "[default", "]default[", "[]\na = 1\n",
                                 "# [default]\na = 1\n", "\0[default]"}) {
    INFO(text);
    REQUIRE_FALSE(find_aws_profile(text, AwsFile::credentials, "default").has_value());
  }
  const auto cut = find_aws_profile("[default]\na = 1\n[other\na = 2", AwsFile::config, "default");
  REQUIRE(cut == AwsProfile{{"a", "1"}});  // what follows a heading without an end is nobody's
}

}  // namespace
}  // namespace seqd
