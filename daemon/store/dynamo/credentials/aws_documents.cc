#include "daemon/store/dynamo/credentials/aws_documents.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/base/time/calendar.h"
#include "daemon/store/dynamo/credentials/aws_credentials.h"

namespace seqd {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostError = 200;  // bytes of an error's name and words

Status unusable(const std::string& what) {
  return {ErrorCode::UNAVAILABLE, what};
}

Result<Json> parse(std::string_view text) {
  if (text.size() > kMostAwsDocument)
    return unusable("the answer is longer than " + std::to_string(kMostAwsDocument) + " bytes");
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return unusable("the answer is not a JSON object");
  return json;
}

const Json* member(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json& json, const char* name) {
  const Json* const found = member(json, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

// A time in words, or in seconds since 1970 as STS writes it in JSON.
std::optional<std::int64_t> time_of(const Json& json) {
  if (json.is_string()) return parse_aws_time(json.get_ref<const std::string&>());
  if (!json.is_number()) return std::nullopt;
  const double seconds = json.get<double>();
  const bool good = seconds >= 0 && seconds <= static_cast<double>(kLastSecond);
  if (!good) return std::nullopt;
  return static_cast<std::int64_t>(seconds * 1000);
}

// `token`: what the session token is called there.
Result<AwsGrant> grant_of(const Json& json, const char* token) {
  AwsGrant grant;
  grant.credentials = {text_of(json, "AccessKeyId"), text_of(json, "SecretAccessKey"),
                       text_of(json, token)};
  if (grant.credentials.access_key_id.empty() || grant.credentials.secret_access_key.empty())
    return unusable("the answer has no AccessKeyId or no SecretAccessKey");
  if (Status status = check_aws_credentials(grant.credentials); !status.ok())
    return unusable(status.text());
  if (const Json* const expiration = member(json, "Expiration")) {
    grant.expires_ms = time_of(*expiration);
    if (!grant.expires_ms)
      return unusable("the Expiration of the answer is not a time of ISO 8601");
  }
  return grant;
}

// Reads digits from the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  int number = 0;
  if (text.size() < digits) return std::nullopt;
  const char* const end = text.data() + digits;
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number < 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

// "Z", "+01:00", "+0100": seconds.
std::optional<std::int64_t> take_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  const int sign = take(text, '+') ? 1 : take(text, '-') ? -1 : 0;
  const auto hours = take_number(text, 2);
  take(text, ':');
  const auto minutes = take_number(text, 2);
  const bool good = sign != 0 && hours && minutes && text.empty() && *hours < 24 && *minutes < 60;
  if (!good) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::string aws_printable(std::string_view text, std::size_t most) {
  std::string out(text.substr(0, most));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > most ? out + "..." : out;
}

std::optional<std::int64_t> parse_aws_time(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || *month < 1 || *month > 12 || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || *day < 1 || *day > days_of_month(*year, *month)) return std::nullopt;
  if (!take(text, 'T') && !take(text, 't')) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *second > 60) return std::nullopt;
  if (take(text, '.')) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
  }
  const auto offset = take_offset(text);
  if (!offset || *year < 1970) return std::nullopt;
  const std::int64_t local =
      first_second(*year, *month, *day) + *hour * 3600 + *minute * 60 + *second;
  return std::max<std::int64_t>(0, local - *offset) * 1000;
}

Result<AwsGrant> read_metadata_document(std::string_view text) {
  const Result<Json> json = parse(text);
  if (!json.ok()) return json.status();
  const std::string code = text_of(*json, "Code");
  if (!code.empty() && code != "Success") return unusable("it reports " + aws_error_of(text));
  Result<AwsGrant> grant = grant_of(*json, "Token");
  if (grant.ok() && grant->credentials.session_token.empty())
    return unusable("the answer has no Token");
  return grant;
}

Result<AwsGrant> read_sts_document(std::string_view text) {
  const Result<Json> json = parse(text);
  if (!json.ok()) return unusable(json.status().text() + ", the requested format");
  const Json* at = &*json;
  for (const char* const name :
       {"AssumeRoleWithWebIdentityResponse", "AssumeRoleWithWebIdentityResult", "Credentials"}) {
    at = member(*at, name);
    if (at == nullptr) return unusable("the answer has no Credentials");
  }
  Result<AwsGrant> grant = grant_of(*at, "SessionToken");
  if (grant.ok() && (grant->credentials.session_token.empty() || !grant->expires_ms))
    return unusable("the answer has no SessionToken or no Expiration");
  return grant;
}

std::string aws_error_of(std::string_view text) {
  const Result<Json> json = parse(text);
  if (!json.ok()) return "";
  const Json* const inner = member(*json, "Error");
  const Json& error = inner != nullptr ? *inner : *json;
  std::string said = text_of(error, member(error, "Code") != nullptr ? "Code" : "code");
  if (said.empty()) return "";
  const std::string words =
      text_of(error, member(error, "Message") != nullptr ? "Message" : "message");
  if (!words.empty()) said += ": " + words;
  return aws_printable(said, kMostError);
}

}  // namespace seqd
