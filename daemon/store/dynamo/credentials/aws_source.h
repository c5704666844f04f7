// AwsSource: one place where credentials of Amazon may be found, or several in turn. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "daemon/base/files/file_reader.h"
#include "daemon/base/http.h"
#include "daemon/base/time/clock.h"
#include "daemon/store/dynamo/wire/aws_signature.h"

namespace seqd {

struct AwsGrant {
  AwsCredentials credentials;
  std::optional<std::int64_t> expires_ms;  // since 1970 in UTC; none: not known
  std::string origin;                      // for people, without a secret

  bool operator==(const AwsGrant&) const = default;
};

// absent: this source is not configured here, so the next one is queried. failed: it is configured
// and returned no credentials, so the search ends: a later source would have the credentials of
// another user.
struct AwsAnswer {
  enum class Kind : std::uint8_t { found, absent, failed };
  Kind kind = Kind::absent;
  AwsGrant grant;   // of found
  std::string why;  // of the others; for people, without a secret
};

inline AwsAnswer aws_absent(std::string why) {
  return {.kind = AwsAnswer::Kind::absent, .grant = {}, .why = std::move(why)};
}
inline AwsAnswer aws_failed(std::string why) {
  return {.kind = AwsAnswer::Kind::failed, .grant = {}, .why = std::move(why)};
}
// Found where `grant` has any.
inline AwsAnswer aws_answer(Result<AwsGrant> grant, const std::string& origin) {
  if (!grant.ok()) return aws_failed(origin + ": " + grant.status().text());
  grant->origin = origin;
  return {.kind = AwsAnswer::Kind::found, .grant = std::move(*grant), .why = {}};
}

class AwsSource {
 public:
  using Done = std::function<void(AwsAnswer)>;

  virtual ~AwsSource() = default;
  virtual std::string name() const = 0;
  // Calls `done` once, perhaps before it returns, and within a time of its own; never once the
  // source is destroyed. One call at a time.
  virtual void ask(Done done) = 0;
};

// What sources work with; all of it outlives them.
struct AwsParts {
  HttpClient& http;
  FileReader& files;
  // A variable of the environment; empty where there is none.
  std::function<std::string(const char* name)> environment;
};

}  // namespace seqd
