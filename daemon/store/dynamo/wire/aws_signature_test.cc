#include "daemon/store/dynamo/wire/aws_signature.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// From Amazon's own test suite of Signature Version 4 (aws-sig-v4-test-suite): its credentials, its
// time and the signatures that it publishes.
constexpr std::int64_t kSuiteTime = 1440938160000;  // 2015-08-30 12:36:00 UTC

struct Vector {
  const char* name;
  AwsRequest request;
  const char* session_token;
  const char* names;
  const char* signature;
};

AwsRequest suite_request(const char* method, const char* path = "/") {
  AwsRequest request;
  request.method = method;
  request.path = path;
  request.headers = {{"Host", "example.amazonaws.com"}};
  return request;
}

std::vector<Vector> vectors() {
  AwsRequest trimmed = suite_request("GET");
  trimmed.headers.emplace_back("My-Header1", " value1");
  trimmed.headers.emplace_back("My-Header2", " \"a   b   c\"");
  AwsRequest form = suite_request("POST");
  form.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  form.body = "Param1=value1";
  return {
      {"get-vanilla", suite_request("GET"), "", "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-unreserved",
       suite_request("GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
       "", "host;x-amz-date", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-header-value-trim", trimmed, "", "host;my-header1;my-header2;x-amz-date",
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"post-vanilla", suite_request("POST"), "", "host;x-amz-date",
       "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"post-x-www-form-urlencoded", form, "", "content-type;host;x-amz-date",
       "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
      {"post-sts-header-before", suite_request("POST"),
       "AQoDYXdzEPT//////////"
       "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwt"
       "h"
       "Ax7mSEI/qkPpKPi/"
       "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQc"
       "H"
       "NVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
       "scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==",
       "host;x-amz-date;x-amz-security-token",
       "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
  };
}

TEST_CASE("AwsSignature: Amazon's published vectors", "[aws]") {
  for (const Vector& vector : vectors()) {
    INFO(vector.name);
    const AwsCredentials credentials{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                     vector.session_token};
    const auto added =
        sign_aws_request(vector.request, credentials, "us-east-1", "service", kSuiteTime);
    REQUIRE(added.size() == (vector.session_token[0] == '\0' ? 2 : 3));
    REQUIRE(added[0] == std::pair<std::string, std::string>("X-Amz-Date", "20150830T123600Z"));
    REQUIRE(added.back().first == "Authorization");
    REQUIRE(added.back().second ==
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=" +
                std::string(vector.names) + ", Signature=" + vector.signature);
  }
}

TEST_CASE("AwsSignature: a session token is sent, and the secret is not", "[aws]") {
  const AwsCredentials credentials{"AKID", "the-secret", "the-token"};
  const auto added =
      sign_aws_request(suite_request("POST"), credentials, "eu-central-1", "dynamodb", kSuiteTime);
  REQUIRE(added[1] == std::pair<std::string, std::string>("X-Amz-Security-Token", "the-token"));
  for (const auto& [name, value] : added) REQUIRE(value.find("the-secret") == std::string::npos);
}

TEST_CASE("AwsSignature: a date is written in full, also before 1970", "[aws]") {
  REQUIRE(amz_date(1000) == "19700101T000001Z");
  REQUIRE(amz_date(-1) == "19700101T000000Z");
  REQUIRE(amz_date(951782399000) == "20000228T235959Z");
}

}  // namespace
}  // namespace seqd
