#include "daemon/store/dynamo/dynamo_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/store/dynamo/credentials/aws_address.h"
#include "daemon/store/dynamo/dynamo_names.h"

namespace seqd {
namespace {

// "https://HOST" or "https://HOST:PORT", http too; nothing behind it.
bool is_endpoint(const std::string& endpoint) {
  const std::size_t scheme = endpoint.find("://");
  if (!endpoint.starts_with("http://") && !endpoint.starts_with("https://")) return false;
  const std::string host = endpoint.substr(scheme + 3);
  return !host.empty() && host.size() <= 255 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == ':' || c == '[' || c == ']';
  });
}

}  // namespace

std::string endpoint_of(const DynamoStoreOptions& options) {
  if (!options.endpoint.empty()) return options.endpoint;
  return fmt::format("https://dynamodb.{}.{}", options.region, aws_domain_of(options.region));
}

Status check_dynamo_options(const DynamoStoreOptions& options) {
  if (!is_aws_region(options.region))
    return {ErrorCode::CONFIG,
            "region: allowed is the name of a region, as \"eu-central-1\"; it is part of the "
            "signature, also where an endpoint is given"};
  if (!options.endpoint.empty() && !is_endpoint(options.endpoint))
    return {ErrorCode::CONFIG,
            "endpoint: allowed is https://HOST[:PORT] or http://HOST[:PORT], without a path"};
  // The text begins with the option.
  if (Status status = check_table_name("table", options.instances_table); !status.ok())
    return {ErrorCode::CONFIG, "instances_table: " + status.text()};
  if (Status status = check_attribute_name("attribute", options.instances_key); !status.ok())
    return {ErrorCode::CONFIG, "instances_key: " + status.text()};
  return {};
}

}  // namespace seqd
