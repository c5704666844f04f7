// Web identity: a token signed by a third party (a Kubernetes cluster, for example) is exchanged
// for the credentials of a role, by STS in the region. Loop thread.
#pragma once

#include <string>

#include "daemon/base/lifetime.h"
#include "daemon/store/dynamo/credentials/aws_source.h"

namespace seqd {

struct AwsWebIdentity {
  std::string token_file;
  std::string role_arn;
  std::string session_name;  // empty: "seqd"
  std::string origin;        // for people
};

// Queries STS. Each ask() reads the token's file again: the token is replaced from time to time.
class AwsRoleOfWebIdentity {
 public:
  AwsRoleOfWebIdentity(const AwsParts& parts, std::string region)
      : parts_(parts), region_(std::move(region)) {}

  void ask(const AwsWebIdentity& identity, const AwsSource::Done& done);

 private:
  void exchange(const AwsWebIdentity& identity, const std::string& token, AwsSource::Done done);
  // AWS_ENDPOINT_URL_STS, else that of the region.
  std::string endpoint() const;

  const AwsParts parts_;
  const std::string region_;
  const Lifetime lifetime_;
};

// By AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN and AWS_ROLE_SESSION_NAME.
class AwsWebIdentitySource final : public AwsSource {
 public:
  AwsWebIdentitySource(const AwsParts& parts, const std::string& region)
      : parts_(parts), role_(parts, region) {}

  std::string name() const override { return "web identity"; }
  void ask(Done done) override;

 private:
  const AwsParts parts_;
  AwsRoleOfWebIdentity role_;
};

}  // namespace seqd
