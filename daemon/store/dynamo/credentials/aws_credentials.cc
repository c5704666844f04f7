#include "daemon/store/dynamo/credentials/aws_credentials.h"

#include <algorithm>

namespace seqd {
namespace {

constexpr std::size_t kMostKey = 256;      // bytes
constexpr std::size_t kMostToken = 16384;  // of a session token, which may hold policies

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_key(const std::string& text) {
  return !text.empty() && text.size() <= kMostKey && is_printable(text);
}

}  // namespace

AwsCredentials keys_of_aws_profile(const AwsProfile& profile) {
  return {aws_property(profile, "aws_access_key_id"),
          aws_property(profile, "aws_secret_access_key"),
          aws_property(profile, "aws_session_token")};
}

Status check_aws_credentials(const AwsCredentials& credentials) {
  const std::string& id = credentials.access_key_id;
  const bool good = is_key(id) && id.find_first_of("/,=") == std::string::npos &&
                    is_key(credentials.secret_access_key) &&
                    credentials.session_token.size() <= kMostToken &&
                    is_printable(credentials.session_token);
  if (good) return {};
  return {ErrorCode::CONFIG,
          "the credentials are malformed; allowed: an access key and a secret of up to 256 "
          "printable letters, a session token of up to 16,384"};
}

Result<AwsCredentials> parse_aws_credentials(std::string_view text, const std::string& profile) {
  const auto properties = find_aws_profile(text, AwsFile::credentials, profile);
  if (!properties)
    return Status(
        ErrorCode::CONFIG,
        "there is no such profile as aws_profile says; allowed: the name of a [profile] of "
        "the file");
  AwsCredentials found = keys_of_aws_profile(*properties);
  if (found.access_key_id.empty() || found.secret_access_key.empty())
    return Status(
        ErrorCode::CONFIG,
        "the profile has no aws_access_key_id or no aws_secret_access_key; allowed: both");
  if (Status status = check_aws_credentials(found); !status.ok()) return status;
  return found;
}

}  // namespace seqd
