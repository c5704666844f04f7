// Signature Version 4 of Amazon's web services: proves a request to the service without sending
// the secret. Pure functions, the time by argument; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace seqd {

// A secret: not to be printed, logged or sent anywhere.
struct AwsCredentials {
  std::string access_key_id;  // not a secret; the others are
  std::string secret_access_key;
  std::string session_token;  // of temporary ones, else empty

  bool operator==(const AwsCredentials&) const = default;
};

struct AwsRequest {
  std::string method = "POST";
  std::string path = "/";
  // All that is to be signed, among them Host; x-amz-date and the session token are added.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// "20150830T123600Z"; 1970-01-01 where the time is before it.
std::string amz_date(std::int64_t unix_ms);

// The headers to be sent besides those of the request: X-Amz-Date, Authorization, and
// X-Amz-Security-Token where there is one.
std::vector<std::pair<std::string, std::string>> sign_aws_request(const AwsRequest& request,
                                                                  const AwsCredentials& credentials,
                                                                  const std::string& region,
                                                                  const std::string& service,
                                                                  std::int64_t unix_ms);

}  // namespace seqd
