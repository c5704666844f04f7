#include "daemon/store/dynamo/aws_credentials.h"

#include <algorithm>

namespace seqd {
namespace {

constexpr std::size_t kMostKey = 256;      // bytes
constexpr std::size_t kMostToken = 16384;  // of a session token, which may hold policies

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_key(const std::string& text) {
  return !text.empty() && text.size() <= kMostKey && is_printable(text);
}

}  // namespace

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
  AwsCredentials found;
  bool in_profile = false;
  bool seen = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const std::size_t close = line.find(']');
      in_profile = close != std::string_view::npos && trimmed(line.substr(1, close - 1)) == profile;
      seen = seen || in_profile;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!in_profile || equals == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, equals));
    const std::string value(trimmed(line.substr(equals + 1)));
    if (key == "aws_access_key_id") found.access_key_id = value;
    if (key == "aws_secret_access_key") found.secret_access_key = value;
    if (key == "aws_session_token") found.session_token = value;
  }
  if (!seen)
    return Status(
        ErrorCode::CONFIG,
        "there is no such profile as aws_profile says; allowed: the name of a [profile] of "
        "the file");
  if (found.access_key_id.empty() || found.secret_access_key.empty())
    return Status(
        ErrorCode::CONFIG,
        "the profile has no aws_access_key_id or no aws_secret_access_key; allowed: both");
  if (Status status = check_aws_credentials(found); !status.ok()) return status;
  return found;
}

}  // namespace seqd
