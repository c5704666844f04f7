#include "daemon/store/mongo/driver/mongo_uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace seqd {
namespace {

constexpr int kShortestTimeoutMs = 100;
constexpr int kLongestTimeoutMs = 60'000;
constexpr int kMostConnections = 64;
// After an error like "shutting down" the driver leaves a server alone until the next heartbeat;
// its default of 10 s would make every failover last that long.
constexpr int kHeartbeatMs = 1'000;

Status config_error(std::string text) {
  return {ErrorCode::CONFIG, "MongoDB: " + std::move(text)};
}

Status check_options(const MongoStoreOptions& options) {
  if (options.uri.find('\0') != std::string::npos)
    return config_error("the URI contains a zero byte");
  if (options.timeout_ms < kShortestTimeoutMs || options.timeout_ms > kLongestTimeoutMs) {
    return config_error(fmt::format("timeout_ms is {}; allowed are {} .. {}", options.timeout_ms,
                                    kShortestTimeoutMs, kLongestTimeoutMs));
  }
  if (options.concurrency < 1 || options.concurrency > kMostConnections) {
    return config_error(fmt::format("concurrency is {}; allowed are 1 .. {}", options.concurrency,
                                    kMostConnections));
  }
  return {};
}

Status check_database(const std::string& name) {
  if (name.empty()) {
    return config_error(
        "no database is named; write it at the end of the URI (mongodb://host/DATABASE) or set "
        "database");
  }
  if (name.size() > 63 ||
      name.find_first_of(std::string_view("/\\. \"$*<>:|?\0", 13)) != std::string::npos) {
    return config_error(fmt::format(
        "\"{}\" is not a database name: at most 63 bytes, none of / \\ . \" $ * < > : | ? "
        "or a space",
        name));
  }
  return {};
}

// What the URI asks of writes. Majority and journal are set explicitly in any case; a URI that asks
// for less is refused, because its author believes it is obeyed.
Status check_write_concern(const mongoc_uri_t* uri, bool unsafe) {
  const mongoc_write_concern_t* asked = mongoc_uri_get_write_concern(uri);
  const int32_t w = mongoc_write_concern_get_w(asked);
  if (w == 0 || w == MONGOC_WRITE_CONCERN_W_ERRORS_IGNORED) {
    return config_error(
        "the URI asks for w=0: the server would not report what it allocated; remove w from the "
        "URI");
  }
  if (unsafe) return {};
  if (w == 1) {
    return config_error(
        "the URI asks for w=1: a failover can undo such a write and IDs are issued twice; remove w "
        "from the URI, or "
        "set unsafe_write_concern = true if that may happen");
  }
  if (mongoc_write_concern_journal_is_set(asked) && !mongoc_write_concern_get_journal(asked)) {
    return config_error(
        "the URI asks for journal=false: a power loss can undo such a write and IDs are issued "
        "twice; remove journal "
        "from the URI, or set unsafe_write_concern = true if that may happen");
  }
  return {};
}

Status set_timeouts(mongoc_uri_t* uri, int timeout_ms) {
  for (const char* name : {MONGOC_URI_SERVERSELECTIONTIMEOUTMS, MONGOC_URI_CONNECTTIMEOUTMS,
                           MONGOC_URI_SOCKETTIMEOUTMS, MONGOC_URI_WAITQUEUETIMEOUTMS}) {
    if (!mongoc_uri_has_option(uri, name)) {
      mongoc_uri_set_option_as_int32(uri, name, timeout_ms);
      continue;
    }
    const int32_t asked = mongoc_uri_get_option_as_int32(uri, name, -1);
    if (asked < 1 || asked > kLongestTimeoutMs) {
      return config_error(
          fmt::format("the URI sets {}={}; allowed are 1 .. {}", name, asked, kLongestTimeoutMs));
    }
  }
  return {};
}

// In both forms.
void set_write_concern(MongoTarget& target, bool unsafe) {
  std::unique_ptr<mongoc_write_concern_t, MongoWriteConcernDestroyer> concern;
  if (unsafe) {
    concern.reset(mongoc_write_concern_copy(mongoc_uri_get_write_concern(target.uri.get())));
    if (mongoc_write_concern_is_default(concern.get())) concern.reset();
  }
  if (!concern) {
    concern.reset(mongoc_write_concern_new());
    mongoc_write_concern_set_w(concern.get(), MONGOC_WRITE_CONCERN_W_MAJORITY);
    mongoc_write_concern_set_journal(concern.get(), true);
  }
  // Shorter than the socket's time-out, so that the server says what is missing and the connection
  // stays usable.
  mongoc_write_concern_set_wtimeout_int64(concern.get(), std::max(1, target.timeout_ms / 4 * 3));
  ASSERT(mongoc_write_concern_append(concern.get(), target.write_concern_field.get()));
  target.write_concern = std::move(concern);
}

std::string host_names(const mongoc_uri_t* uri) {
  if (const char* name = mongoc_uri_get_srv_hostname(uri); name != nullptr) return name;
  std::string names;
  for (const mongoc_host_list_t* host = mongoc_uri_get_hosts(uri); host != nullptr;
       host = host->next) {
    if (!names.empty()) names += ',';
    names += host->host_and_port;
  }
  return names;
}

}  // namespace

Result<MongoTarget> read_mongo_uri(const MongoStoreOptions& options) {
  if (Status status = check_options(options); !status.ok()) return status;
  bson_error_t error;
  MongoTarget target;
  target.uri.reset(mongoc_uri_new_with_error(options.uri.c_str(), &error));
  mongoc_uri_t* uri = target.uri.get();
  if (uri == nullptr) {
    // With a user in it the driver's text may quote the password.
    const bool secret = options.uri.find('@') != std::string::npos;
    return config_error(fmt::format("the URI {} cannot be read ({})", masked_mongo_uri(options.uri),
                                    secret ? "user name and password must be percent-encoded: @ is "
                                             "%40, : is %3A, / is %2F, % is %25"
                                           : error.message));
  }
  if (Status status = check_write_concern(uri, options.unsafe_write_concern); !status.ok())
    return status;
  if (Status status = set_timeouts(uri, options.timeout_ms); !status.ok()) return status;
  const char* named = mongoc_uri_get_database(uri);
  target.database = !options.database.empty() ? options.database : named != nullptr ? named : "";
  if (Status status = check_database(target.database); !status.ok()) return status;
  mongoc_uri_set_option_as_int32(uri, MONGOC_URI_MAXPOOLSIZE, 2 * options.concurrency);
  if (!mongoc_uri_has_option(uri, MONGOC_URI_HEARTBEATFREQUENCYMS)) {
    mongoc_uri_set_option_as_int32(uri, MONGOC_URI_HEARTBEATFREQUENCYMS, kHeartbeatMs);
  }
  mongoc_uri_set_option_as_bool(uri, MONGOC_URI_SERVERSELECTIONTRYONCE, false);
  if (!mongoc_uri_has_option(uri, MONGOC_URI_RETRYWRITES))
    mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYWRITES, true);
  if (mongoc_uri_get_appname(uri) == nullptr) mongoc_uri_set_appname(uri, "seqd");
  target.timeout_ms =
      mongoc_uri_get_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS, options.timeout_ms);
  set_write_concern(target, options.unsafe_write_concern);
  target.hosts = host_names(uri);
  return target;
}

std::string masked_mongo_uri(const std::string& uri) {
  std::string masked = uri;
  const std::size_t scheme = masked.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  // The last @ of all: a password that was not encoded may itself contain @ and /.
  const std::size_t at = masked.rfind('@');
  if (at != std::string::npos && at >= begin) masked.replace(begin, at - begin, "***");
  std::string lower = masked;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const std::string_view word : {"passphrase=", "password=", "aws_session_token:"}) {
    for (std::size_t found = lower.find(word); found != std::string::npos;
         found = lower.find(word, found + 1)) {
      const std::size_t value = found + word.size();
      // Properties of a mechanism have commas between them.
      const char* const ends = word.ends_with(':') ? ",&" : "&";
      const std::size_t length = std::min(lower.find_first_of(ends, value), lower.size()) - value;
      masked.replace(value, length, "***");
      lower.replace(value, length, "***");
    }
  }
  return masked;
}

std::string hide_secrets(std::string text, const mongoc_uri_t* uri) {
  const char* password = mongoc_uri_get_password(uri);
  if (password == nullptr || *password == '\0') return text;
  const std::string_view secret = password;
  for (std::size_t found = text.find(secret); found != std::string::npos;
       found = text.find(secret, found + 3)) {
    text.replace(found, secret.size(), "***");
  }
  return text;
}

}  // namespace seqd
