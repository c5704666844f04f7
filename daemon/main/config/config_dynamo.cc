#include "daemon/main/config/config_dynamo.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "daemon/os/credentials.h"
#include "daemon/store/dynamo/credentials/aws_credentials.h"
#include "daemon/store/dynamo/credentials/aws_profiles.h"

namespace seqd {
namespace {

// Whether what is sent there leaves the host in the clear.
bool is_in_the_clear(const std::string& endpoint) {
  if (!endpoint.starts_with("http://")) return false;
  const std::string host = endpoint.substr(7);
  return !host.starts_with("127.") && !host.starts_with("localhost") && !host.starts_with("[::1]");
}

// libcurl would report these errors only at the first request.
Status check_authorities(const std::string& path) {
  std::error_code fault;
  const std::filesystem::file_status facts = std::filesystem::status(path, fault);
  if (std::filesystem::exists(facts) && !std::filesystem::is_regular_file(facts))
    return {ErrorCode::CONFIG, path + " is not a regular file"};
  std::ifstream file(path);
  if (!file) return {ErrorCode::CONFIG, path + " cannot be opened: " + std::strerror(errno)};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("-----BEGIN CERTIFICATE-----") ||
        line.starts_with("-----BEGIN TRUSTED CERTIFICATE-----"))
      return {};
  }
  return {ErrorCode::CONFIG, path + " has no certificate; allowed: a file in the form PEM"};
}

// Those that the configuration names. The other sources may answer late, or later than the start.
void check_credentials(const std::string& name, int line, const StoreSettings& store,
                       const WrittenKeys& written, const ConfigurationRequest& request,
                       Configuration& configuration, Problems& problems) {
  if (store.aws_credentials_file.empty()) return;
  if (!request.need_credentials && is_credential_of_unit(store.aws_credentials_file)) {
    configuration.warnings.push_back(
        name + ": the credentials were not checked: they are not in $CREDENTIALS_DIRECTORY here");
    return;
  }
  const std::string key = "aws_credentials_file";
  const Result<DynamoCredentials> found = read_dynamo_credentials(store);
  if (!found.ok()) {
    problems.add(line_of(written, key, line), name + "." + key, found.status().text());
  } else if (!found->warning.empty()) {
    configuration.warnings.push_back(name + "." + key + ": " + found->warning);
  }
}

// Of the environment, else of the profile; empty where none of them has one.
std::string find_region(const StoreSettings& store) {
  for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = read_environment(name); !region.empty()) return region;
  }
  std::string profile = store.aws_profile;
  if (profile.empty()) profile = read_environment("AWS_PROFILE");
  if (profile.empty()) profile = "default";
  for (const AwsFile file : {AwsFile::credentials, AwsFile::config}) {
    const AwsFilePlace place = aws_file_place(read_environment, file);
    if (place.path.empty()) continue;
    const Result<Secret> text = read_secret_text(place.path);
    if (!text.ok()) continue;  // the search for credentials reports the error
    const auto found = find_aws_profile(text->value, file, profile);
    if (found && found->contains("region")) return found->at("region");
  }
  return "";
}

}  // namespace

std::string read_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

DynamoStoreOptions dynamo_options(const StoreSettings& store) {
  DynamoStoreOptions options;
  options.region = store.region;
  options.endpoint = store.endpoint;
  options.instances_table = store.instances_table;
  options.instances_key = store.instances_key;
  options.timeout_ms = store.timeout_ms;
  options.unsafe_global_table = store.unsafe_global_table;
  options.plain = store.lease_mode == LeaseModeOption::plain;
  return options;
}

Result<DynamoCredentials> read_dynamo_credentials(const StoreSettings& store) {
  Result<Secret> secret = read_secret_text(store.aws_credentials_file);
  if (!secret.ok()) return secret.status();
  Result<AwsCredentials> found = parse_aws_credentials(
      secret->value, store.aws_profile.empty() ? "default" : store.aws_profile);
  if (!found.ok()) return found.status();
  return DynamoCredentials{std::move(*found), secret->warning};
}

void read_dynamo_store(const std::string& name, int line, StoreSettings& store,
                       const WrittenKeys& written, const ConfigurationRequest& request,
                       Configuration& configuration, Problems& problems) {
  if (store.region.empty()) store.region = find_region(store);
  if (store.region.empty() && !request.need_credentials) {
    configuration.warnings.push_back(
        name + ".region: it is not set, and neither AWS_REGION nor a profile sets it here");
  } else if (Status status = check_dynamo_options(dynamo_options(store)); !status.ok()) {
    // The text begins with the option.
    const std::size_t end = status.text().find(": ");
    const std::string key = status.text().substr(0, end);
    problems.add(line_of(written, key, line), name + "." + key, status.text().substr(end + 2));
  }
  if (store.lease_mode == LeaseModeOption::session)
    problems.add(
        line_of(written, "lease_mode", line), name + ".lease_mode",
        "found \"session\", which is for MongoDB; allowed: \"auto\", \"slot\" or \"plain\"");
  if (Status status = store.tls_ca_file.empty() ? Status() : check_authorities(store.tls_ca_file);
      !status.ok())
    problems.add(line_of(written, "tls_ca_file", line), name + ".tls_ca_file", status.text());
  if (is_in_the_clear(store.endpoint))
    configuration.warnings.push_back(
        name +
        ".endpoint: http to another host: others on the way can read and change what is sent");
  check_credentials(name, line, store, written, request, configuration, problems);
}

}  // namespace seqd
