// The metadata servers of containers and instances, which return credentials of their role. Loop
// thread.
#pragma once

#include <string>

#include "daemon/base/lifetime.h"
#include "daemon/store/dynamo/credentials/aws_source.h"

namespace seqd {

// ECS, EKS Pod Identity and others: by AWS_CONTAINER_CREDENTIALS_RELATIVE_URI at 169.254.170.2, or
// AWS_CONTAINER_CREDENTIALS_FULL_URI; AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or
// AWS_CONTAINER_AUTHORIZATION_TOKEN is shown to it.
class AwsContainer final : public AwsSource {
 public:
  explicit AwsContainer(const AwsParts& parts) : parts_(parts) {}

  std::string name() const override { return "container"; }
  void ask(Done done) override;

 private:
  void get(const std::string& url, const std::string& token, Done done);

  const AwsParts parts_;
  const Lifetime lifetime_;
};

// EC2: the instance metadata service, version 2 only, at 169.254.169.254 or where
// AWS_EC2_METADATA_SERVICE_ENDPOINT says; not queried with AWS_EC2_METADATA_DISABLED.
class AwsInstance final : public AwsSource {
 public:
  // Without such a service there is no answer, so the first answer has to come soon.
  static constexpr std::int64_t kFirstAnswerMs = 2'000;

  explicit AwsInstance(const AwsParts& parts) : parts_(parts) {}

  std::string name() const override { return "instance metadata"; }
  void ask(Done done) override;

 private:
  void find_role(const std::string& endpoint, const std::string& token, Done done);
  void get(const std::string& url, const std::string& token, Done done);

  const AwsParts parts_;
  const Lifetime lifetime_;
};

}  // namespace seqd
