#include "daemon/store/dynamo/wire/dynamo_client.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Kind = DynamoAnswer::Kind;

DynamoAnswer judge(int status, const std::string& body) {
  return judge_dynamo_reply({.status = status, .sent = true, .body = body, .error = ""}, "place");
}

std::string error(const std::string& type) {
  return fmt::format(R"({{"__type": "com.amazonaws.dynamodb.v20120810#{}", "message": "said so"}})",
                     type);
}

TEST_CASE("DynamoClient: a good answer is done, with or without an item", "[dynamo]") {
  REQUIRE(judge(200, "{}").kind == Kind::done);
  REQUIRE_FALSE(judge(200, "{}").item.has_value());
  REQUIRE(judge(200, R"({"Attributes": {"seq": {"N": "5"}}})").item->contains("seq"));
}

TEST_CASE("DynamoClient: a failed condition is a mismatch and nothing else is", "[dynamo]") {
  REQUIRE(judge(400, error("ConditionalCheckFailedException")).kind == Kind::mismatch);
  REQUIRE(judge(500, error("ConditionalCheckFailedException")).kind == Kind::unknown);
  REQUIRE(judge(200, error("ConditionalCheckFailedException")).kind == Kind::unknown);
}

TEST_CASE("DynamoClient: a transaction is cancelled for reasons, or still under way", "[dynamo]") {
  const std::string cancelled = error("TransactionCanceledException");
  DynamoAnswer answer = judge(400, cancelled);
  REQUIRE((answer.kind == Kind::mismatch && answer.reasons.empty()));
  answer =
      judge(400, R"({"CancellationReasons": [{"Code": "None"}, {"Code": "X", "Message": "y"}],)" +
                     cancelled.substr(1));
  REQUIRE((answer.kind == Kind::mismatch && answer.reasons.size() == 2));
  REQUIRE((answer.reasons.at(0).code == "None" && answer.reasons.at(1).message == "y"));
  REQUIRE(judge(500, cancelled).kind == Kind::unknown);
  // It is a repeat of what may still be applied.
  REQUIRE(judge(400, error("TransactionInProgressException")).kind == Kind::unknown);
}

TEST_CASE("DynamoClient: what is refused is told with its name and what to do", "[dynamo]") {
  struct Row {
    const char* type;
    ErrorCode code;
    const char* advice;
  };
  const Row row = GENERATE(
      values<Row>({{"ProvisionedThroughputExceededException", ErrorCode::UNAVAILABLE, "throughput"},
                   {"ThrottlingException", ErrorCode::UNAVAILABLE, "less often"},
                   {"RequestLimitExceeded", ErrorCode::UNAVAILABLE, "less often"},
                   {"TransactionConflictException", ErrorCode::UNAVAILABLE, "repeated"},
                   {"ExpiredTokenException", ErrorCode::UNAVAILABLE, "expired"},
                   {"UnrecognizedClientException", ErrorCode::STORE_REFUSED, "access key"},
                   {"InvalidSignatureException", ErrorCode::STORE_REFUSED, "clock"},
                   {"RequestTimeTooSkewed", ErrorCode::STORE_REFUSED, "clock"},
                   {"AccessDeniedException", ErrorCode::STORE_REFUSED, "dynamodb:UpdateItem"},
                   {"ResourceNotFoundException", ErrorCode::STORE_REFUSED, "create it"},
                   {"ValidationException", ErrorCode::STORE_REFUSED, "key_field"},
                   {"SomethingNewException", ErrorCode::STORE_REFUSED, "status 400"}}));
  const DynamoAnswer answer = judge(400, error(row.type));
  INFO(answer.error.to_string());
  REQUIRE(answer.kind == Kind::refused);
  REQUIRE(answer.error.code() == row.code);
  REQUIRE(answer.error.text().starts_with("place: "));
  REQUIRE(answer.error.text().find(row.type) != std::string::npos);
  REQUIRE(answer.error.text().find("said so") != std::string::npos);
  REQUIRE(answer.error.text().find(row.advice) != std::string::npos);
}

TEST_CASE("DynamoClient: whatever else comes leaves it open", "[dynamo]") {
  for (const int status : {100, 200, 204, 301, 307, 400, 403, 404, 407, 429, 500, 502, 503, 504}) {
    for (const char* const body : {"", "<html></html>", "[]", R"({"Item": 5})"}) {
      INFO(status << " " << body);
      REQUIRE(judge(status, body).kind == Kind::unknown);
    }
  }
  REQUIRE(judge(400, "{}").kind == Kind::unknown);
  REQUIRE(judge(500, error("ThrottlingException")).kind == Kind::unknown);
  REQUIRE(judge(503, error("ServiceUnavailable")).kind == Kind::unknown);
}

TEST_CASE("DynamoClient: no answer is refused only where nothing was sent", "[dynamo]") {
  HttpReply reply{.status = 0, .sent = true, .body = "", .error = "timed out"};
  REQUIRE(judge_dynamo_reply(reply, "place").kind == Kind::unknown);
  REQUIRE(judge_dynamo_reply(reply, "place").error.text() == "place: timed out");
  reply.sent = false;
  REQUIRE(judge_dynamo_reply(reply, "place").kind == Kind::refused);
}

TEST_CASE("DynamoClient: what the service says is passed on in part", "[dynamo]") {
  const std::string much(100'000, 'x');
  const DynamoAnswer answer =
      judge(400, fmt::format(R"({{"__type": "ValidationException", "message": "{}"}})", much));
  REQUIRE(answer.error.text().size() < 1'000);
}

// "The Canonical String for this request should have been ..." holds all that was signed.
TEST_CASE("DynamoClient: no error holds a secret of the credentials, nor a part of one",
          "[dynamo]") {
  const AwsCredentials credentials{"AKID", "hunter2key", "hunter2" + std::string(1'000, 't')};
  for (const int status : {400, 500}) {
    const std::string said = "x-amz-security-token:" + credentials.session_token + " hunter2key";
    const HttpReply reply{
        .status = status,
        .sent = true,
        .body = fmt::format(R"({{"__type": "InvalidSignatureException", "message": "{}"}})", said),
        .error = ""};
    const std::string text = judge_dynamo_reply(reply, "place", credentials).error.text();
    INFO(text);
    REQUIRE(text.find("hunter2") == std::string::npos);
    REQUIRE(text.find("x-amz-security-token:*** ***") != std::string::npos);
  }
}

TEST_CASE("DynamoClient: credentials are at fault only where the service says so", "[dynamo]") {
  const auto at_fault = [](int status, const char* type) {
    return refusal_of_credentials(
        {.status = status, .sent = true, .body = error(type), .error = ""});
  };
  REQUIRE(at_fault(400, "ExpiredTokenException") == AwsRefusal::keys);
  REQUIRE(at_fault(403, "UnrecognizedClientException") == AwsRefusal::keys);
  REQUIRE(at_fault(400, "AccessDeniedException") == AwsRefusal::rights);
  REQUIRE_FALSE(at_fault(500, "ExpiredTokenException"));
  REQUIRE_FALSE(at_fault(400, "ThrottlingException"));
}

}  // namespace
}  // namespace seqd
