#include "daemon/store/dynamo/credentials/aws_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/store/dynamo/credentials/aws_address.h"
#include "daemon/store/dynamo/credentials/aws_documents.h"
#include "daemon/store/dynamo/credentials/aws_http.h"

namespace seqd {
namespace {

constexpr char kContainerHost[] = "http://169.254.170.2";
constexpr char kFile[] = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
constexpr char kToken[] = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
constexpr char kInstanceHost[] = "http://169.254.169.254";
constexpr char kInstanceHostV6[] = "http://[fd00:ec2::254]";
constexpr char kRolePath[] = "/latest/meta-data/iam/security-credentials/";
constexpr std::size_t kMostToken = 16'384;  // bytes
constexpr std::size_t kMostRole = 128;

// One word, without newlines at its end; empty where it is none.
std::string one_word(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text.size() <= kMostToken && is_one_word(text) ? text : std::string();
}

bool is_true(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text == "true";
}

}  // namespace

void AwsContainer::ask(Done done) {
  const std::string relative = parts_.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  std::string url = parts_.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && url.empty())
    return done(
        aws_absent("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and "
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI are not set"));
  if (!relative.empty() && !relative.starts_with('/'))
    return done(aws_failed("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with /"));
  const char* const variable = relative.empty() ? "AWS_CONTAINER_CREDENTIALS_FULL_URI"
                                                : "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
  if (!relative.empty()) url = kContainerHost + relative;
  if (Status status = check_aws_address(url); !status.ok())
    return done(aws_failed(fmt::format("{}: {}", variable, status.text())));

  const std::string file = parts_.environment(kFile);
  if (file.empty()) {
    const std::string given = parts_.environment(kToken);
    const std::string token = one_word(given);
    if (token.empty() && !given.empty())
      return done(aws_failed(fmt::format("{} is not one word", kToken)));
    return get(url, token, std::move(done));
  }
  auto read = lifetime_.guard([this, url, done](const Result<std::string>& text) {
    if (!text.ok()) return done(aws_failed(fmt::format("{}: {}", kFile, text.status().text())));
    const std::string token = one_word(*text);
    if (token.empty()) return done(aws_failed(fmt::format("{} holds not one word", kFile)));
    get(url, token, done);
  });
  parts_.files.read(file, read);
}

void AwsContainer::get(const std::string& url, const std::string& token, Done done) {
  std::vector<std::string> headers = {"Accept: application/json"};
  if (!token.empty()) headers.push_back("Authorization: " + token);
  // What follows the host may be a secret.
  const std::string origin = "container, by " + url.substr(0, url.find('/', url.find("://") + 3));
  auto answered = lifetime_.guard([origin, done = std::move(done)](const HttpReply& reply) {
    const std::string fault = fault_of_aws_reply(reply);
    if (!fault.empty()) return done(aws_failed(origin + ": " + fault));
    done(aws_answer(read_metadata_document(reply.body), origin));
  });
  parts_.http.send(aws_get(url, std::move(headers)), answered);
}

void AwsInstance::ask(Done done) {
  if (is_true(parts_.environment("AWS_EC2_METADATA_DISABLED")))
    return done(aws_absent("AWS_EC2_METADATA_DISABLED is set"));
  std::string endpoint = parts_.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (endpoint.empty())
    endpoint = parts_.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE") == "IPv6"
                   ? kInstanceHostV6
                   : kInstanceHost;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (Status status = check_aws_address(endpoint); !status.ok())
    return done(aws_failed("AWS_EC2_METADATA_SERVICE_ENDPOINT: " + status.text()));
  HttpRequest request;
  request.method = "PUT";
  request.url = endpoint + "/latest/api/token";
  request.headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600", "Content-Type:"};
  request.timeout_ms = kFirstAnswerMs;
  auto answered = lifetime_.guard([this, endpoint, done = std::move(done)](const HttpReply& reply) {
    const std::string fault = fault_of_aws_reply(reply);
    const std::string token = one_word(reply.body);
    if (fault.empty() && !token.empty()) return find_role(endpoint, token, done);
    done(
        aws_failed(fmt::format("{} returns no token: {} (in a container on EC2 the hop limit of "
                               "the instance's metadata options must be 2)",
                               endpoint, fault.empty() ? "the answer is not one word" : fault)));
  });
  parts_.http.send(std::move(request), answered);
}

void AwsInstance::find_role(const std::string& endpoint, const std::string& token, Done done) {
  const std::string url = endpoint + kRolePath;
  auto answered =
      lifetime_.guard([this, url, token, endpoint, done = std::move(done)](const HttpReply& reply) {
        const std::string fault = fault_of_aws_reply(reply);
        if (reply.status == 404)
          return done(aws_failed(endpoint + ": the instance has no role; attach an instance "
                                            "profile"));
        if (!fault.empty()) return done(aws_failed(endpoint + ": " + fault));
        const std::string role =
            one_word(reply.body.substr(0, std::min(reply.body.find('\n'), reply.body.size())));
        const bool good = !role.empty() && role.size() <= kMostRole &&
                          role.find_first_of("/?#%\\") == std::string::npos;
        if (!good) return done(aws_failed(endpoint + ": the answer is not the name of a role"));
        get(url + role, token, done);
      });
  parts_.http.send(aws_get(url, {"X-aws-ec2-metadata-token: " + token}), answered);
}

void AwsInstance::get(const std::string& url, const std::string& token, Done done) {
  auto answered = lifetime_.guard([url, done = std::move(done)](const HttpReply& reply) {
    const std::string origin = "instance metadata, " + url;
    const std::string fault = fault_of_aws_reply(reply);
    if (!fault.empty()) return done(aws_failed(origin + ": " + fault));
    done(aws_answer(read_metadata_document(reply.body), origin));
  });
  parts_.http.send(aws_get(url, {"X-aws-ec2-metadata-token: " + token}), answered);
}

}  // namespace seqd
