#include "daemon/store/dynamo/credentials/aws_web_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/store/dynamo/credentials/aws_address.h"
#include "daemon/store/dynamo/credentials/aws_documents.h"
#include "daemon/store/dynamo/credentials/aws_http.h"

namespace seqd {
namespace {

constexpr std::int64_t kStsPatienceMs = 10'000;
constexpr std::size_t kMostToken = 20'000;  // bytes that STS accepts
constexpr char kEndpoint[] = "AWS_ENDPOINT_URL_STS";

// As STS allows it: 2 to 64 letters, digits and _+=,.@-
bool is_session_name(const std::string& name) {
  return name.size() >= 2 && name.size() <= 64 && is_one_word(name) &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "0123456789_+=,.@-") == std::string::npos;
}

bool is_role_arn(const std::string& arn) {
  return arn.starts_with("arn:") && arn.size() >= 20 && arn.size() <= 2048 && is_one_word(arn);
}

}  // namespace

std::string AwsRoleOfWebIdentity::endpoint() const {
  std::string given = parts_.environment(kEndpoint);
  if (given.empty()) return fmt::format("https://sts.{}.{}/", region_, aws_domain_of(region_));
  if (!given.ends_with('/')) given += '/';
  return given;
}

void AwsRoleOfWebIdentity::ask(const AwsWebIdentity& identity, const AwsSource::Done& done) {
  if (!is_role_arn(identity.role_arn))
    return done(aws_failed(identity.origin + ": the role is missing or not an ARN; allowed: "
                                             "arn:aws:iam::ACCOUNT:role/NAME"));
  if (!identity.session_name.empty() && !is_session_name(identity.session_name))
    return done(aws_failed(identity.origin +
                           ": allowed in the name of the session: 2 to 64 of A-Z a-z 0-9 _+=,.@-"));
  if (Status status = check_aws_address(endpoint()); !status.ok())
    return done(aws_failed(fmt::format("{}: {}: {}", identity.origin, kEndpoint, status.text())));
  auto read = lifetime_.guard([this, identity, done](const Result<std::string>& file) {
    if (!file.ok()) return done(aws_failed(identity.origin + ": " + file.status().text()));
    std::string token = *file;
    while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
    if (token.empty() || token.size() > kMostToken || !is_one_word(token))
      return done(
          aws_failed(fmt::format("{}: {} holds no token; allowed: one line of 1 to {} bytes",
                                 identity.origin, identity.token_file, kMostToken)));
    exchange(identity, token, done);
  });
  parts_.files.read(identity.token_file, read);
}

void AwsRoleOfWebIdentity::exchange(const AwsWebIdentity& identity, const std::string& token,
                                    AwsSource::Done done) {
  HttpRequest request;
  request.url = endpoint();
  request.headers = {"Content-Type: application/x-www-form-urlencoded",
                     "Accept: application/json"};  // else it answers in XML
  request.body = fmt::format(
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}"
      "&WebIdentityToken={}",
      form_encoded(identity.role_arn),
      form_encoded(identity.session_name.empty() ? "seqd" : identity.session_name),
      form_encoded(token));
  request.timeout_ms = kStsPatienceMs;
  const std::string origin =
      fmt::format("{}: role {}, by STS at {}", identity.origin, identity.role_arn, request.url);
  auto answered = lifetime_.guard([origin, done = std::move(done)](const HttpReply& reply) {
    const std::string fault = fault_of_aws_reply(reply);
    if (!fault.empty()) return done(aws_failed(origin + ": " + fault));
    done(aws_answer(read_sts_document(reply.body), origin));
  });
  parts_.http.send(std::move(request), answered);
}

void AwsWebIdentitySource::ask(Done done) {
  AwsWebIdentity identity;
  identity.token_file = parts_.environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (identity.token_file.empty())
    return done(aws_absent("AWS_WEB_IDENTITY_TOKEN_FILE is not set"));
  identity.role_arn = parts_.environment("AWS_ROLE_ARN");
  if (identity.role_arn.empty())
    return done(aws_failed("AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not; set both"));
  identity.session_name = parts_.environment("AWS_ROLE_SESSION_NAME");
  identity.origin = "web identity of the environment";
  role_.ask(identity, done);
}

}  // namespace seqd
