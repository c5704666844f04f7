#include "tests/seeds/conditional_update.h"

#include <cstddef>
#include <utility>

namespace seqd::seeds {
namespace {

using nlohmann::json;

constexpr const char* kKey = "NextKey";
constexpr const char* kNumber = "NextId";

std::size_t append(char* bytes, std::size_t size, std::size_t count, void* text) {
  static_cast<std::string*>(text)->append(bytes, size * count);
  return size * count;
}

json number(std::int64_t value) {
  return {{"N", std::to_string(value)}};
}

bool has_failed_condition(const std::string& text) {
  const json body = json::parse(text, nullptr, false);
  const std::string type = body.is_object() ? body.value("__type", "") : "";
  return type.ends_with("ConditionalCheckFailedException");
}

}  // namespace

ConditionalUpdate::ConditionalUpdate(const Service& service, std::string name, bool returns_old,
                                     IssueLog& log)
    : service_(service),
      name_(std::move(name)),
      returns_old_(returns_old),
      log_(log),
      connection_(curl_easy_init()) {
  if (!connection_) give_up("there is no memory for a connection");
}

ConditionalUpdate::~ConditionalUpdate() = default;

// The local server checks no signature; the access key chooses the account.
ConditionalUpdate::Answer ConditionalUpdate::call(const char* operation, const json& body) {
  Answer answer;
  const std::string text = body.dump();
  curl_slist* headers = nullptr;
  for (const std::string& header :
       {std::string("X-Amz-Target: DynamoDB_20120810.") + operation,
        std::string("X-Amz-Date: 20260101T000000Z"),
        std::string("Content-Type: application/x-amz-json-1.0"),
        "Authorization: AWS4-HMAC-SHA256 Credential=" + service_.access_key +
            "/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"})
    headers = curl_slist_append(headers, header.c_str());
  CURL* const connection = connection_.get();
  curl_easy_setopt(connection, CURLOPT_URL, service_.endpoint.c_str());
  curl_easy_setopt(connection, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(connection, CURLOPT_COPYPOSTFIELDS, text.c_str());
  curl_easy_setopt(connection, CURLOPT_TIMEOUT_MS, 20'000L);
  curl_easy_setopt(connection, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(connection, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(connection, CURLOPT_WRITEDATA, &answer.body);
  if (curl_easy_perform(connection) == CURLE_OK)
    curl_easy_getinfo(connection, CURLINFO_RESPONSE_CODE, &answer.status);
  curl_slist_free_all(headers);
  return answer;
}

std::optional<std::int64_t> ConditionalUpdate::read() {
  const Answer found = call(
      "GetItem",
      {{"TableName", service_.table}, {"ConsistentRead", true}, {"Key", {{kKey, {{"S", name_}}}}}});
  if (found.status != 200) return std::nullopt;
  return std::stoll(json::parse(found.body).at("Item").at(kNumber).at("N").get<std::string>());
}

ConditionalUpdate::Answer ConditionalUpdate::write(std::int64_t current) {
  return call("UpdateItem", {{"TableName", service_.table},
                             {"Key", {{kKey, {{"S", name_}}}}},
                             {"UpdateExpression", "SET #n = :next"},
                             {"ConditionExpression", "#n = :current"},
                             {"ExpressionAttributeNames", {{"#n", kNumber}}},
                             {"ExpressionAttributeValues",
                              {{":next", number(current + 1)}, {":current", number(current)}}}});
}

std::optional<std::int64_t> ConditionalUpdate::next() {
  const std::lock_guard lock(mutex_);
  for (;;) {
    const std::optional<std::int64_t> current = read();
    if (!current) return std::nullopt;
    log_.ask();
    const Answer written = write(*current);
    if (written.status == 200) {
      const std::int64_t id = returns_old_ ? *current : *current + 1;
      log_.block(id, id + 1);
      log_.id(id);
      return id;
    }
    log_.failed();
    if (!has_failed_condition(written.body))
      give_up("the service answered " + std::to_string(written.status) + ": " + written.body);
  }
}

}  // namespace seqd::seeds
