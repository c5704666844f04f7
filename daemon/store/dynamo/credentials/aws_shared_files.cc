#include "daemon/store/dynamo/credentials/aws_shared_files.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "daemon/store/dynamo/credentials/aws_credentials.h"
#include "daemon/store/dynamo/credentials/aws_documents.h"

namespace seqd {
namespace {

constexpr char kInstead[] =
    "; have another program write the keys to aws_credentials_file, which is read again once they "
    "are refused";

constexpr std::array<const char*, 5> kNotSupported = {
    "sso_session", "sso_start_url", "sso_account_id", "login_session", "credential_process"};

// Both files, those of the credentials file first.
AwsProfile merged(const std::optional<AwsProfile>& credentials,
                  const std::optional<AwsProfile>& config) {
  AwsProfile out = credentials.value_or(AwsProfile());
  if (config) out.insert(config->begin(), config->end());
  return out;
}

// Keys belong together, so they are those of one file.
AwsCredentials keys_of(const std::optional<AwsProfile>& credentials,
                       const std::optional<AwsProfile>& config) {
  if (credentials && credentials->contains("aws_access_key_id"))
    return keys_of_aws_profile(*credentials);
  return config ? keys_of_aws_profile(*config) : AwsCredentials();
}

void note(std::string& list, const std::string& why) {
  list += (list.empty() ? "" : ", ") + why;
}

}  // namespace

void AwsSharedFiles::ask(Done done) {
  Found found;
  found.profile = profile_.empty() ? parts_.environment("AWS_PROFILE") : profile_;
  found.named = !found.profile.empty();
  if (!found.named) found.profile = "default";
  found.credentials_file = aws_file_place(parts_.environment, AwsFile::credentials);
  found.config_file = aws_file_place(parts_.environment, AwsFile::config);
  const std::string path = found.credentials_file.path;
  if (path.empty()) {
    note(found.missing, "HOME and AWS_SHARED_CREDENTIALS_FILE are not set");
    return read_config(std::move(found), std::move(done));
  }
  auto read = lifetime_.guard(
      [this, found = std::move(found), done = std::move(done)](const Result<std::string>& text) {
        Found next = found;
        if (text.ok()) {
          next.credentials = find_aws_profile(*text, AwsFile::credentials, next.profile);
        } else if (next.credentials_file.named) {
          return done(aws_failed("AWS_SHARED_CREDENTIALS_FILE: " + text.status().text()));
        } else {
          note(next.missing, text.status().text());
        }
        read_config(std::move(next), done);
      });
  parts_.files.read(path, read);
}

void AwsSharedFiles::read_config(Found found, Done done) {
  const std::string path = found.config_file.path;
  if (path.empty()) return judge(found, std::move(done));
  auto read = lifetime_.guard(
      [this, found = std::move(found), done = std::move(done)](const Result<std::string>& text) {
        Found next = found;
        if (text.ok()) {
          next.config = find_aws_profile(*text, AwsFile::config, next.profile);
        } else if (next.config_file.named) {
          return done(aws_failed("AWS_CONFIG_FILE: " + text.status().text()));
        } else {
          note(next.missing, text.status().text());
        }
        judge(next, done);
      });
  parts_.files.read(path, read);
}

void AwsSharedFiles::judge(const Found& found, Done done) {
  const std::string where = fmt::format("profile \"{}\"", aws_printable(found.profile, 128));
  if (!found.credentials && !found.config) {
    const std::string why =
        fmt::format("there is no {} in the shared files{}{}", where,
                    found.missing.empty() ? "" : ": ", aws_printable(found.missing, 300));
    return done(found.named ? aws_failed(why) : aws_absent(why));
  }
  const AwsProfile all = merged(found.credentials, found.config);
  const auto value = [&](const char* name) { return aws_property(all, name); };
  if (!value("role_arn").empty()) {
    if (value("web_identity_token_file").empty())
      return done(aws_failed(
          where + ": role_arn by source_profile or credential_source is not supported" + kInstead));
    const AwsWebIdentity identity{value("web_identity_token_file"), value("role_arn"),
                                  value("role_session_name"), where};
    return role_.ask(identity, done);
  }
  const AwsCredentials keys = keys_of(found.credentials, found.config);
  if (!keys.access_key_id.empty() || !keys.secret_access_key.empty()) {
    Status status = check_aws_credentials(keys);
    if (!status.ok()) return done(aws_failed(where + ": " + status.text()));
    return done(aws_answer(AwsGrant{keys, {}, {}}, where));
  }
  for (const char* const name : kNotSupported) {
    if (!value(name).empty())
      return done(aws_failed(fmt::format("{}: {} is not supported{}", where, name, kInstead)));
  }
  const std::string why = where + " of the shared files has no credentials";
  done(found.named && !profile_.empty() ? aws_failed(why) : aws_absent(why));
}

}  // namespace seqd
