#include "daemon/store/dynamo/wire/aws_signature.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "daemon/base/assertion.h"
#include "daemon/base/time/calendar.h"

namespace seqd {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

std::string sha256(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  unsigned int size = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                 EVP_sha256(), nullptr);
  ASSERT(done == 1 && size == digest.size());
  return digest;
}

std::string hmac(std::string_view key, std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  unsigned int size = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &size);
  ASSERT(made != nullptr && size == digest.size());
  return digest;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// Without spaces at the ends, and with one where there are several.
std::string trimmed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

std::string amz_date(std::int64_t unix_ms) {
  const CivilTime time = civil_time(std::max<std::int64_t>(0, unix_ms) / 1000);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", time.year, time.month, time.day, time.hour,
                     time.minute, time.second);
}

std::vector<std::pair<std::string, std::string>> sign_aws_request(const AwsRequest& request,
                                                                  const AwsCredentials& credentials,
                                                                  const std::string& region,
                                                                  const std::string& service,
                                                                  std::int64_t unix_ms) {
  const std::string date = amz_date(unix_ms);
  std::vector<std::pair<std::string, std::string>> added = {{"X-Amz-Date", date}};
  if (!credentials.session_token.empty())
    added.emplace_back("X-Amz-Security-Token", credentials.session_token);

  std::map<std::string, std::string> headers;  // in the order of their names
  for (const auto& list : {request.headers, added})
    for (const auto& [name, value] : list) headers[lower_case(name)] = trimmed(value);
  std::string lines;
  std::string names;
  for (const auto& [name, value] : headers) {
    lines += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = fmt::format("{}\n{}\n\n{}\n{}\n{}", request.method, request.path,
                                            lines, names, to_hex(sha256(request.body)));
  const std::string day = date.substr(0, 8);
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, region, service);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, date, scope, to_hex(sha256(canonical)));
  std::string key = "AWS4" + credentials.secret_access_key;
  for (const std::string& part : {day, region, service, std::string("aws4_request")})
    key = hmac(key, part);
  added.emplace_back(
      "Authorization",
      fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                  credentials.access_key_id, scope, names, to_hex(hmac(key, to_sign))));
  return added;
}

}  // namespace seqd
