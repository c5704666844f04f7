#include "daemon/store/dynamo/credentials/aws_credentials.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr char kFile[] =
    "# of a person\n"
    "[default]\n"
    "aws_access_key_id = AKIDONE\n"
    "aws_secret_access_key=one/secret+=\r\n"
    "region = eu-central-1\n"
    "\n"
    "  [ ids ]\n"
    "\taws_access_key_id=AKIDTWO\n"
    "; a remark = with a sign\n"
    "aws_secret_access_key = two\n"
    "aws_session_token = abc==\n";

TEST_CASE("AwsCredentials: a profile is read from among others", "[aws]") {
  auto found = parse_aws_credentials(kFile, "default");
  REQUIRE(found.ok());
  REQUIRE(*found == AwsCredentials{"AKIDONE", "one/secret+=", ""});
  found = parse_aws_credentials(kFile, "ids");
  REQUIRE(found.ok());
  REQUIRE(*found == AwsCredentials{"AKIDTWO", "two", "abc=="});
}

TEST_CASE("AwsCredentials: what is missing or malformed is refused without being shown", "[aws]") {
  const auto refuses = [](const std::string& text, const std::string& word) {
    const Status status = parse_aws_credentials(text, "default").status();
    INFO(status.to_string());
    REQUIRE(status.code() == ErrorCode::CONFIG);
    REQUIRE(status.text().find(word) != std::string::npos);
    REQUIRE(status.text().find("hunter2") == std::string::npos);
  };
  refuses("", "no such profile");
  refuses("[other]\naws_access_key_id = hunter2\naws_secret_access_key = hunter2\n", "profile");
  refuses("[default\naws_access_key_id = hunter2\naws_secret_access_key = hunter2\n", "profile");
  refuses("[default]\naws_access_key_id = hunter2\n", "aws_secret_access_key");
  refuses("[default]\naws_secret_access_key = hunter2\n", "aws_access_key_id");
  refuses("[default]\naws_access_key_id = hunter2\naws_secret_access_key = hunter2 x\n",
          "malformed");
  refuses("[default]\naws_access_key_id = hunter2/x\naws_secret_access_key = hunter2\n",
          "malformed");
  refuses("[default]\naws_access_key_id = a\naws_secret_access_key = hunter2\xc3\xa9\n",
          "malformed");
  refuses("[default]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = " +
              std::string(20'000, 'x') + "\n",
          "malformed");
}

TEST_CASE("AwsCredentials: none can add a header to a request", "[aws]") {
  for (const char* const bad : {"a\r\nX: y", "a\nb", "", "a b"}) {
    REQUIRE_FALSE(check_aws_credentials({bad, "s", ""}).ok());
    REQUIRE_FALSE(check_aws_credentials({"k", bad, ""}).ok());
  }
  REQUIRE_FALSE(check_aws_credentials({"k", "s", "t\r\nX: y"}).ok());
  REQUIRE(check_aws_credentials({"k", "s", ""}).ok());
}

}  // namespace
}  // namespace seqd
