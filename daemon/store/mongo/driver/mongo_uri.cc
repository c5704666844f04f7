#include "daemon/store/mongo/driver/mongo_uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/secrets.h"

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

// The write concern of the URI. Majority and journal are set explicitly in any case; a URI with a
// weaker write concern is refused, because it would have no effect.
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

// As they are written. A name without "=" has no value.
struct Option {
  std::string_view name;
  std::string_view value;
};

// Behind the last "@", since a password that was not encoded may hold a "?".
// The user's part ends at `at`; npos: there is none.
std::vector<Option> options_behind(std::string_view uri, std::size_t at) {
  std::vector<Option> options;
  const std::size_t question = uri.find('?', at + 1);
  if (question == std::string_view::npos) return options;
  std::string_view rest = uri.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    options.push_back({one.substr(0, equals), one.substr(std::min(equals + 1, one.size()))});
  }
  return options;
}

std::vector<Option> options_in(std::string_view uri) {
  return options_behind(uri, uri.rfind('@'));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

// Numbers, and words that the server's manual has.
bool is_harmless(const Option& option) {
  constexpr std::array<std::string_view, 21> kHarmless = {"appname",
                                                          "authmechanism",
                                                          "authsource",
                                                          "connecttimeoutms",
                                                          "directconnection",
                                                          "heartbeatfrequencyms",
                                                          "journal",
                                                          "loadbalanced",
                                                          "maxpoolsize",
                                                          "minpoolsize",
                                                          "readconcernlevel",
                                                          "readpreference",
                                                          "replicaset",
                                                          "retryreads",
                                                          "retrywrites",
                                                          "serverselectiontimeoutms",
                                                          "sockettimeoutms",
                                                          "ssl",
                                                          "tls",
                                                          "w",
                                                          "wtimeoutms"};
  const std::string name = lower(std::string(option.name));
  return std::find(kHarmless.begin(), kHarmless.end(), name) != kHarmless.end();
}

// Of a mechanism: "NAME:value,NAME:value".
std::vector<std::string_view> properties_in(std::string_view text) {
  std::vector<std::string_view> properties;
  while (!text.empty()) {
    properties.push_back(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(properties.back().size() + 1, text.size()));
  }
  return properties;
}

// The password as it is written and decoded, and the values of options that are secrets by name,
// where the user's part ends at `at`.
void add_secrets(std::string_view uri, std::size_t at, std::vector<std::string>& secrets) {
  const auto add = [&](std::string_view written) {
    secrets.emplace_back(written);
    secrets.push_back(percent_decoded(written));
  };
  const std::size_t begin = uri.find("://");
  if (begin != std::string_view::npos && at != std::string_view::npos && at > begin) {
    const std::string_view user_info = uri.substr(begin + 3, at - begin - 3);
    if (const std::size_t colon = user_info.find(':'); colon != std::string_view::npos)
      add(user_info.substr(colon + 1));
  }
  for (const Option& option : options_behind(uri, at)) {
    if (is_named_secret(percent_decoded(option.name))) add(option.value);
    for (const std::string& properties :
         {std::string(option.value), percent_decoded(option.value)}) {
      for (const std::string_view property : properties_in(properties)) {
        // With "%3A" in place of the colon all of it is hidden.
        const std::size_t colon = property.find(':');
        if (is_named_secret(property.substr(0, colon))) add(property.substr(colon + 1));
      }
    }
  }
}

// An "@" may stand in the password and in the options: both readings are hidden.
std::vector<std::string> secrets_in(std::string_view uri) {
  std::vector<std::string> secrets;
  add_secrets(uri, uri.find('@'), secrets);
  add_secrets(uri, uri.rfind('@'), secrets);
  return secrets;
}

// Texts of the driver about the name in mongodb+srv://. With an "@" in the password they are about
// a part of that.
bool quotes_nothing(std::string_view text) {
  constexpr std::array<std::string_view, 4> kFixed = {
      "Invalid service name in URI", "Missing service name in SRV URI",
      "Multiple service names are prohibited in an SRV URI",
      "Port numbers are prohibited in an SRV URI"};
  return std::find(kFixed.begin(), kFixed.end(), text) != kFixed.end();
}

bool has_one_user(std::string_view uri) {
  return uri.find('@') == uri.rfind('@');
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
    const std::string masked = masked_mongo_uri(options.uri);
    // With a user in it the driver's text may quote parts of the password.
    const bool secret = masked.find(kHidden) < masked.find('?') &&
                        !(quotes_nothing(error.message) && has_one_user(options.uri));
    return config_error(fmt::format("the URI {} cannot be read ({})", masked,
                                    secret
                                        ? "it is mongodb://USER:PASSWORD@HOST/DATABASE, and user "
                                          "name and password must be percent-encoded: @ is "
                                          "%40, : is %3A, / is %2F, % is %25"
                                        : hide(error.message, secrets_in(options.uri))));
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
  if (uri.empty()) return uri;
  std::string masked = masked_address(uri);
  if (masked.ends_with(kHidden)) return masked;
  char separator = '?';
  for (const Option& option : options_in(uri)) {
    masked += separator;
    masked += is_harmless(option) ? fmt::format("{}={}", option.name, option.value)
              : option.name.find('%') == std::string::npos
                  ? fmt::format("{}={}", option.name, kHidden)
                  : std::string(kHidden);
    separator = '&';
  }
  return masked;
}

std::string hide_secrets(std::string text, const mongoc_uri_t* uri) {
  return hide(std::move(text), secrets_in(mongoc_uri_get_string(uri)));
}

}  // namespace seqd
