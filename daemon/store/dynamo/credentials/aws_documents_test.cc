#include "daemon/store/dynamo/credentials/aws_documents.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kMoment = 1'795'705'445'000;  // 2026-11-26T15:04:05Z

TEST_CASE("AwsDocuments: a time is read in every form that is written", "[aws]") {
  REQUIRE(parse_aws_time("2026-11-26T15:04:05Z") == kMoment);
  REQUIRE(parse_aws_time("2026-11-26T15:04:05.678Z") == kMoment);
  REQUIRE(parse_aws_time("2026-11-26T16:04:05+01:00") == kMoment);
  REQUIRE(parse_aws_time("2026-11-26T07:34:05-0730") == kMoment);
  REQUIRE(parse_aws_time("1970-01-01T00:00:00+01:00") == 0);
  for (const char* const bad :
       {"", "2026", "2026-11-26", "2026-11-26T15:04:05", "2026-13-26T15:04:05Z",
        "2026-00-26T15:04:05Z", "2026-02-29T15:04:05Z", "2026-11-26T24:04:05Z",
        "2026-11-26T15:60:05Z", "2026-11-26T15:04:61Z", "2026-11-26T15:04:05.Z",
        "2026-11-26T15:04:05Zx", "2026-11-26T15:04:05+1:00", "2026-11-26T15:04:05+24:00",
        "1969-12-31T23:59:59Z", "-026-11-26T15:04:05Z", "tomorrow"}) {
    INFO(bad);
    REQUIRE_FALSE(parse_aws_time(bad));
  }
}

TEST_CASE("AwsDocuments: what a container or an instance says is read", "[aws]") {
  const auto grant = read_metadata_document(
      R"({"Code": "Success", "AccessKeyId": "AKID", "SecretAccessKey": "s", "Token": "t",
          "Expiration": "2026-11-26T15:04:05Z"})");
  REQUIRE(grant.ok());
  REQUIRE(grant->credentials == AwsCredentials{"AKID", "s", "t"});
  REQUIRE(grant->expires_ms == kMoment);
}

std::string sts(const std::string& expiration) {
  return fmt::format(
      R"({{"AssumeRoleWithWebIdentityResponse": {{"AssumeRoleWithWebIdentityResult": {{"Credentials":
         {{"AccessKeyId": "AKID", "SecretAccessKey": "s", "SessionToken": "t", "Expiration": {}}}}}}}}})",
      expiration);
}

TEST_CASE("AwsDocuments: STS writes the time as a number, and may write it in words", "[aws]") {
  for (const char* const expiration : {"1795705445", "1.795705445E9", "\"2026-11-26T15:04:05Z\""}) {
    const auto grant = read_sts_document(sts(expiration));
    INFO(expiration << grant.status().to_string());
    REQUIRE(grant.ok());
    REQUIRE(grant->credentials == AwsCredentials{"AKID", "s", "t"});
    REQUIRE(grant->expires_ms == kMoment);
  }
  for (const char* const expiration : {"-1", "1e300", "null", "true", "\"never\"", "{}"}) {
    INFO(expiration);
    REQUIRE_FALSE(read_sts_document(sts(expiration)).ok());
  }
}

TEST_CASE("AwsDocuments: garbage is refused, and what it holds is not shown", "[aws]") {
  const std::vector<std::string> bad = {
      "",
      "hunter2",
      "<AssumeRoleWithWebIdentityResponse>hunter2</AssumeRoleWithWebIdentityResponse>",
      "[]",
      "null",
      R"({"Version": 2, "AccessKeyId": "AKID", "SecretAccessKey": "hunter2"})",
      R"({"Version": "1", "AccessKeyId": "AKID", "SecretAccessKey": "hunter2"})",
      R"({"Version": 1, "AccessKeyId": "", "SecretAccessKey": "hunter2", "Token": "t"})",
      R"({"Version": 1, "AccessKeyId": 5, "SecretAccessKey": "hunter2", "Token": "t"})",
      R"({"Version": 1, "AccessKeyId": "A\r\nX: y", "SecretAccessKey": "hunter2", "Token": "t"})",
      R"({"Version": 1, "AccessKeyId": "AKID", "SecretAccessKey": "hunter2", "Token": "t",
          "Expiration": "hunter2"})",
      R"({"Version": 1, "AssumeRoleWithWebIdentityResponse": "hunter2"})",
      std::string(kMostAwsDocument + 1, '{'),
      std::string(kMostAwsDocument, '['),
  };
  for (const std::string& text : bad) {
    for (auto* const read : {&read_metadata_document, &read_sts_document}) {
      const auto grant = read(text);
      INFO(text.substr(0, 200) << ": " << grant.status().to_string());
      REQUIRE_FALSE(grant.ok());
      REQUIRE(grant.status().code() == ErrorCode::UNAVAILABLE);
      REQUIRE(grant.status().text().find("hunter2") == std::string::npos);
    }
  }
  REQUIRE_FALSE(read_metadata_document(R"({"AccessKeyId": "AKID", "SecretAccessKey": "s"})").ok());
  REQUIRE(read_metadata_document(R"({"Code": "Failed", "Message": "no role"})")
              .status()
              .text()
              .find("Failed: no role") != std::string::npos);
}

TEST_CASE("AwsDocuments: an error is said in one line, and in part", "[aws]") {
  REQUIRE(aws_error_of(R"({"Error": {"Code": "AccessDenied", "Message": "Not\nyours"}})") ==
          "AccessDenied: Not?yours");
  REQUIRE(aws_error_of(R"({"code": "Throttled", "message": "slow"})") == "Throttled: slow");
  REQUIRE(aws_error_of(R"({"Error": "x"})").empty());
  REQUIRE(aws_error_of("<html>").empty());
  REQUIRE(aws_error_of(R"({"Code": ")" + std::string(9'000, 'x') + R"("})").size() < 300);
  REQUIRE(aws_printable("a\x1b[2Jb\xff", 100) == "a?[2Jb?");
}

}  // namespace
}  // namespace seqd
