// The profile of the shared files: ~/.aws/credentials and ~/.aws/config, or where
// AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE say. It has keys, or a role for a web identity.
// Loop thread.
//
// Not supported, and refused by name: roles by source_profile or credential_source, IAM Identity
// Center (sso_*, login_session), and credential_process.
#pragma once

#include <optional>
#include <string>

#include "daemon/base/lifetime.h"
#include "daemon/store/dynamo/credentials/aws_profiles.h"
#include "daemon/store/dynamo/credentials/aws_source.h"
#include "daemon/store/dynamo/credentials/aws_web_identity.h"

namespace seqd {

class AwsSharedFiles final : public AwsSource {
 public:
  // `profile`: empty: AWS_PROFILE, else "default".
  AwsSharedFiles(const AwsParts& parts, std::string profile, const std::string& region)
      : parts_(parts), profile_(std::move(profile)), role_(parts, region) {}

  std::string name() const override { return "shared files"; }
  void ask(Done done) override;

 private:
  // What is known of the profile while the files are read.
  struct Found {
    std::string profile;
    bool named = false;  // by the configuration or the environment, so that it must exist
    AwsFilePlace credentials_file;
    AwsFilePlace config_file;
    std::optional<AwsProfile> credentials;
    std::optional<AwsProfile> config;
    std::string missing;  // why a file gave nothing
  };

  void read_config(Found found, Done done);
  void judge(const Found& found, Done done);

  const AwsParts parts_;
  const std::string profile_;
  AwsRoleOfWebIdentity role_;
  const Lifetime lifetime_;
};

}  // namespace seqd
