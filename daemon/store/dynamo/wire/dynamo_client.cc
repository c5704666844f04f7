#include "daemon/store/dynamo/wire/dynamo_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/base/secrets.h"

namespace seqd {
namespace {

constexpr std::size_t kMostMessage = 500;  // bytes of what the service says that are passed on

// What the service says with a status of 4xx, and what is to be done about it. It says so instead
// of applying a request, never afterwards.
struct Refusal {
  std::string_view type;
  ErrorCode code;
  std::optional<AwsRefusal> credentials;  // what is wrong with them
  const char* advice;
};

constexpr auto kKeys = AwsRefusal::keys;
constexpr auto kRights = AwsRefusal::rights;
constexpr std::nullopt_t kNothing = std::nullopt;

constexpr char kSlowDown[] =
    "the table's or the account's throughput is used up; the request is repeated, less often";
constexpr char kConflict[] =
    "a transaction changes the item at this moment; the request is repeated";
constexpr char kWrongKeys[] = "check access key, secret and session token";
constexpr char kExpired[] =
    "the temporary credentials have expired; they are read again before the next try";
constexpr char kClock[] =
    "either the secret access key is wrong, or this host's clock: the service accepts 5 minutes "
    "(timedatectl)";
constexpr char kDenied[] =
    "the user or role needs dynamodb:GetItem and dynamodb:UpdateItem on this table";
constexpr char kNoTable[] =
    "there is no such table in this region and account; create it, or correct collection, region "
    "or instances_table";
constexpr char kInvalid[] =
    "check that key_field is the table's only key attribute (a hash key of type S) and that the "
    "item is below 400 KB";

constexpr std::array<Refusal, 19> kRefusals = {{
    {"ProvisionedThroughputExceededException", ErrorCode::UNAVAILABLE, kNothing, kSlowDown},
    {"ThrottlingException", ErrorCode::UNAVAILABLE, kNothing, kSlowDown},
    {"Throttling", ErrorCode::UNAVAILABLE, kNothing, kSlowDown},
    {"RequestLimitExceeded", ErrorCode::UNAVAILABLE, kNothing, kSlowDown},
    {"LimitExceededException", ErrorCode::UNAVAILABLE, kNothing, kSlowDown},
    {"TransactionConflictException", ErrorCode::UNAVAILABLE, kNothing, kConflict},
    {"ReplicatedWriteConflictException", ErrorCode::UNAVAILABLE, kNothing, kConflict},
    {"ExpiredTokenException", ErrorCode::UNAVAILABLE, kKeys, kExpired},
    {"ExpiredToken", ErrorCode::UNAVAILABLE, kKeys, kExpired},
    {"UnrecognizedClientException", ErrorCode::STORE_REFUSED, kKeys, kWrongKeys},
    {"InvalidClientTokenId", ErrorCode::STORE_REFUSED, kKeys, kWrongKeys},
    {"MissingAuthenticationTokenException", ErrorCode::STORE_REFUSED, kKeys, kWrongKeys},
    {"IncompleteSignatureException", ErrorCode::STORE_REFUSED, kKeys, kWrongKeys},
    {"InvalidSignatureException", ErrorCode::STORE_REFUSED, kKeys, kClock},
    {"RequestTimeTooSkewed", ErrorCode::STORE_REFUSED, kNothing, kClock},
    {"AccessDeniedException", ErrorCode::STORE_REFUSED, kRights, kDenied},
    {"ResourceNotFoundException", ErrorCode::STORE_REFUSED, kNothing, kNoTable},
    {"ValidationException", ErrorCode::STORE_REFUSED, kNothing, kInvalid},
    {"ItemCollectionSizeLimitExceededException", ErrorCode::STORE_REFUSED, kNothing, kInvalid},
}};

const Refusal* find_refusal(std::string_view type) {
  const auto* const found = std::find_if(kRefusals.begin(), kRefusals.end(),
                                         [&](const Refusal& one) { return one.type == type; });
  return found == kRefusals.end() ? nullptr : found;
}

bool is_client_error(int status) {
  return status >= 400 && status < 500;
}

DynamoAnswer answer(DynamoAnswer::Kind kind, ErrorCode code, std::string text) {
  return {.kind = kind, .item = {}, .error = {code, std::move(text)}};
}

// Before it is cut: a part of a secret would not be recognized.
std::string words_of(const std::string& said, const AwsCredentials& credentials) {
  return hide(said, {credentials.secret_access_key, credentials.session_token})
      .substr(0, kMostMessage);
}

DynamoAnswer judge_error(const HttpReply& reply, const DynamoBody& body, const std::string& where,
                         const AwsCredentials& credentials) {
  using Kind = DynamoAnswer::Kind;
  if (body.error_type == "ConditionalCheckFailedException")
    return answer(Kind::mismatch, ErrorCode::UNAVAILABLE,
                  where + ": others changed the item at the same moment");
  if (body.error_type == "TransactionCanceledException") {
    DynamoAnswer cancelled =
        answer(Kind::mismatch, ErrorCode::UNAVAILABLE,
               where + ": " + words_of(body.message, credentials) + "; the request is repeated");
    cancelled.reasons = body.reasons;
    for (DynamoReason& reason : cancelled.reasons)
      reason.message = words_of(reason.message, credentials);
    return cancelled;
  }
  // A repeat of one that has not ended: that may still be applied.
  if (body.error_type == "TransactionInProgressException")
    return answer(Kind::unknown, ErrorCode::UNAVAILABLE,
                  where + ": the transaction is still being applied");
  const std::string said = fmt::format("{}: DynamoDB reports {}: {}", where, body.error_type,
                                       words_of(body.message, credentials));
  if (const Refusal* const known = find_refusal(body.error_type))
    return answer(Kind::refused, known->code, said + "; " + known->advice);
  return answer(Kind::refused, ErrorCode::STORE_REFUSED,
                fmt::format("{} (status {})", said, reply.status));
}

// The service does not know the operation.
bool is_unknown_operation(const HttpReply& reply) {
  if (!is_client_error(reply.status)) return false;
  const auto body = read_dynamo_body(reply.body);
  return body.ok() && body->error_type == "UnknownOperationException";
}

}  // namespace

DynamoAnswer judge_dynamo_reply(const HttpReply& reply, const std::string& where,
                                const AwsCredentials& credentials) {
  using Kind = DynamoAnswer::Kind;
  if (reply.status == 0)
    return answer(reply.sent ? Kind::unknown : Kind::refused, ErrorCode::UNAVAILABLE,
                  where + ": " + reply.error);
  auto body = read_dynamo_body(reply.body);
  if (reply.status == 200 && body.ok() && body->error_type.empty())
    return {.kind = Kind::done,
            .item = std::move(body->item),
            .error = {},
            .other_regions = std::move(body->other_regions),
            .items = std::move(body->items).value_or(std::vector<std::optional<DynamoItem>>())};
  // Only the service itself can say that nothing was applied, and it does so with a type.
  if (is_client_error(reply.status) && body.ok() && !body->error_type.empty())
    return judge_error(reply, *body, where, credentials);
  std::string what = fmt::format("{}: the service answered with status {}", where, reply.status);
  if (body.ok() && !body->error_type.empty()) {
    what += fmt::format(", {}: {}", body->error_type, words_of(body->message, credentials));
  } else if (!body.ok()) {
    what += "; " + body.status().text();
  }
  return answer(Kind::unknown, ErrorCode::UNAVAILABLE, std::move(what));
}

std::optional<AwsRefusal> refusal_of_credentials(const HttpReply& reply) {
  if (!is_client_error(reply.status)) return std::nullopt;
  const auto body = read_dynamo_body(reply.body);
  const Refusal* const known = body.ok() ? find_refusal(body->error_type) : nullptr;
  return known == nullptr ? std::nullopt : known->credentials;
}

std::string DynamoClient::place_of_table(const std::string& table) const {
  const std::string host = target_.endpoint.substr(target_.endpoint.find("://") + 3);
  return fmt::format("DynamoDB at {}, table {}", host, table);
}

std::string DynamoClient::place_of(const DynamoKey& key) const {
  return fmt::format("{}, item {{{}: \"{}\"}}", place_of_table(key.table), key.key_field, key.key);
}

void DynamoClient::read(const DynamoKey& key, Done done) {
  send({"GetItem", read_body(key), place_of(key)},
       [this, key, done = std::move(done)](DynamoAnswer read) {
         std::optional<DynamoAnswer> global;
         if (read.item) global = as_global(key, *read.item);
         done(global ? std::move(*global) : std::move(read));
       });
}

std::optional<DynamoAnswer> DynamoClient::as_global(const DynamoKey& key, const DynamoItem& item) {
  if (target_.unsafe_global_table || !is_of_global_table(item)) return std::nullopt;
  DynamoAnswer global = answer(DynamoAnswer::Kind::refused, ErrorCode::STORE_REFUSED,
                               place_of(key) +
                                   ": its attributes aws:rep:... are those of a global table "
                                   "(version 2017.11.29)" +
                                   kGlobalTable);
  global_tables_[key.table] = global.error;
  return global;
}

void DynamoClient::read_together(const DynamoKeys& keys, Done done) {
  ASSERT(!keys.keys.empty() && keys.keys.size() <= kMostInTransaction);
  send({"TransactGetItems", read_together_body(keys), place_of_table(keys.table)},
       [this, keys, done = std::move(done)](DynamoAnswer read) {
         if (read.kind != DynamoAnswer::Kind::done) return done(std::move(read));
         // What is not an answer for each of them says of none that it is not there.
         if (read.items.size() != keys.keys.size())
           return done(answer(DynamoAnswer::Kind::unknown, ErrorCode::UNAVAILABLE,
                              place_of_table(keys.table) + ": the answer has not as many items as "
                                                           "were asked for"));
         for (std::size_t at = 0; at < keys.keys.size(); ++at) {
           if (!read.items[at]) continue;
           auto global = as_global({keys.table, keys.key_field, keys.keys[at]}, *read.items[at]);
           if (global) return done(std::move(*global));
         }
         done(std::move(read));
       });
}

void DynamoClient::transact(const DynamoTransaction& transaction, Done done) {
  const std::vector<DynamoUpdate>& updates = transaction.updates;
  ASSERT(!updates.empty() && updates.size() <= kMostInTransaction);
  send({"TransactWriteItems", transaction_body(updates, transaction.token),
        place_of_table(updates.front().key().table)},
       std::move(done));
}

Status DynamoClient::read_as_global(const std::string& table) const {
  const auto found = global_tables_.find(table);
  return found == global_tables_.end() ? Status() : found->second;
}

void DynamoClient::describe(const std::string& table, Done done) {
  send({"DescribeTable", describe_body(table), place_of_table(table), true}, std::move(done));
}

void DynamoClient::update(const DynamoUpdate& update, Done done) {
  send({"UpdateItem", update.body(), place_of(update.key())}, std::move(done));
}

void DynamoClient::send(Request request, Done done) {
  ASSERT(done);
  // The caller holds the client until `done` was called, so it still exists.
  credentials_.get([this, request = std::move(request),
                    done = std::move(done)](const AwsProvider::Given& given) {
    if (given.ok()) return sign_and_send(request, done, *given);
    later([done, status = given.status(), where = request.where] {
      done(answer(DynamoAnswer::Kind::refused, status.code(), where + ": " + status.text()));
    });
  });
}

void DynamoClient::sign_and_send(const Request& asked, Done done,
                                 const std::shared_ptr<const AwsCredentials>& credentials) {
  AwsRequest to_sign;
  to_sign.headers = {{"Host", target_.endpoint.substr(target_.endpoint.find("://") + 3)},
                     {"Content-Type", "application/x-amz-json-1.0"},
                     {"X-Amz-Target", std::string("DynamoDB_20120810.") + asked.operation}};
  to_sign.body = asked.body;
  const auto signature =
      sign_aws_request(to_sign, *credentials, target_.region, "dynamodb", clock_.wall_ms());
  HttpRequest request;
  request.url = target_.endpoint + "/";
  for (const auto* const list : {&std::as_const(to_sign.headers), &signature})
    for (const auto& [name, value] : *list) request.headers.push_back(name + ": " + value);
  request.body = std::move(to_sign.body);
  request.timeout_ms = target_.timeout_ms;
  http_.send(std::move(request), [&provider = credentials_, credentials, where = asked.where,
                                  may_be_missing = asked.may_be_missing,
                                  done = std::move(done)](const HttpReply& reply) {
    DynamoAnswer judged = judge_dynamo_reply(reply, where, *credentials);
    // With others it may be granted, so waiting requests keep waiting.
    const std::optional<AwsRefusal> refusal = refusal_of_credentials(reply);
    judged.cannot_be_asked =
        may_be_missing && (refusal == AwsRefusal::rights || is_unknown_operation(reply));
    if (refusal && !judged.cannot_be_asked && provider.refused(*credentials, *refusal))
      judged.error = {ErrorCode::UNAVAILABLE,
                      judged.error.text() + "; the daemon searches for others"};
    done(std::move(judged));
  });
}

}  // namespace seqd
