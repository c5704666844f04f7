#include "daemon/store/mongo/driver/mongo_authentication.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace seqd {
namespace {

// Of MongoDB, Atlas ("bad auth") and the driver, in lower case. The server does not say which of
// user and password is wrong, and its code does not come through the driver.
constexpr std::array<std::string_view, 6> kRefusals = {
    "authentication failed",    "auth failed", "bad auth", "mechanism", "could not find user",
    "cannot determine username"};

}  // namespace

bool is_of_authentication(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_SASL || error.domain == MONGOC_ERROR_SCRAM ||
         (error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE);
}

bool is_refused_authentication(const bson_error_t& error) {
  if (!is_of_authentication(error)) return false;
  if (error.domain == MONGOC_ERROR_SCRAM) return true;  // the server could not prove who it is
  std::string text(error.message);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::any_of(kRefusals.begin(), kRefusals.end(), [&text](std::string_view refusal) {
    return text.find(refusal) != std::string::npos;
  });
}

}  // namespace seqd
