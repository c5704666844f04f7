#include "tests/adapters/dynamo/dynamo_server.h"

#include <fmt/format.h>
#include <atomic>

#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/os/system_clock.h"
#include "daemon/os/system_random.h"
#include "daemon/store/dynamo/credentials/aws_chain.h"
#include "daemon/store/dynamo/credentials/aws_keeper.h"
#include "daemon/uv/event_loop.h"
#include "daemon/uv/http/http_client.h"
#include "tests/adapters/in_time.h"
#include "tests/adapters/mongo/mongo_server.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

using Json = nlohmann::json;

struct DynamoServer::Line {
  EventLoop loop;
  UvHttpClient http{loop, 1};
};

DynamoServer::DynamoServer() : line_(std::make_unique<Line>()) {
  const auto make = [this](const char* table, const char* key) {
    const Json attribute = {{{"AttributeName", key}, {"AttributeType", "S"}}};
    const Json schema = {{{"AttributeName", key}, {"KeyType", "HASH"}}};
    Json request = {{"TableName", table}, {"BillingMode", "PAY_PER_REQUEST"}};
    request["AttributeDefinitions"] = Json::array({attribute[0]});
    request["KeySchema"] = Json::array({schema[0]});
    call("CreateTable", request.dump());
  };
  static const bool made = [&] {
    // A process before this one, whose cases are repeated, has left them.
    const std::string tables = call("ListTables", "{}");
    for (const auto& [table, key] : {std::pair{"counters", "_id"}, {"seqd_instances", "instance"}})
      if (tables.find(fmt::format("\"{}\"", table)) == std::string::npos) make(table, key);
    return true;
  }();
  static_cast<void>(made);
  empty("counters", "_id");
  empty("seqd_instances", "instance");
}

DynamoServer::~DynamoServer() = default;

DynamoStoreOptions DynamoServer::options() const {
  DynamoStoreOptions options;
  options.region = "eu-central-1";
  options.endpoint = required_environment(kDynamoEndpoint);
  options.timeout_ms = kPatientMs;
  return options;
}

std::string DynamoServer::call(const std::string& operation, const std::string& body) {
  HttpRequest request;
  request.url = required_environment(kDynamoEndpoint) + "/";
  request.headers = {"Content-Type: application/x-amz-json-1.0",
                     "X-Amz-Target: DynamoDB_20120810." + operation, "X-Amz-Date: 20260101T000000Z",
                     "Authorization: AWS4-HMAC-SHA256 Credential=seqdtest/20260101/eu-central-1/"
                     "dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=0"};
  request.body = body;
  request.timeout_ms = kPatientMs;
  HttpReply reply;
  line_->http.send(std::move(request), [&](HttpReply answer) {
    reply = std::move(answer);
    line_->loop.stop();
  });
  line_->loop.run();
  INFO(operation << " " << body << ": " << reply.error << reply.body);
  REQUIRE_IN_TIME(reply.status != 0);  // it did not answer
  REQUIRE(reply.status == 200);
  return reply.body;
}

void DynamoServer::empty(const std::string& table, const std::string& key_field) {
  const Json found = Json::parse(call("Scan", Json{{"TableName", table}}.dump()));
  for (const Json& item : found["Items"]) {
    const Json key = {{key_field, item[key_field]}};
    call("DeleteItem", Json{{"TableName", table}, {"Key", key}}.dump());
  }
}

void DynamoServer::put(const std::string& key, const std::string& attributes) {
  Json item = Json::parse(attributes);
  item["_id"] = {{"S", key}};
  call("PutItem", Json{{"TableName", "counters"}, {"Item", item}}.dump());
}

void DynamoServer::remove(const std::string& key) {
  const Json where = {{"_id", {{"S", key}}}};
  call("DeleteItem", Json{{"TableName", "counters"}, {"Key", where}}.dump());
}

std::string DynamoServer::item(const std::string& key) {
  const Json where = {{"_id", {{"S", key}}}};
  return call("GetItem",
              Json{{"TableName", "counters"}, {"Key", where}, {"ConsistentRead", true}}.dump());
}

std::int64_t DynamoServer::number(const std::string& key, const std::string& attribute) {
  const auto body = read_dynamo_body(item(key));
  REQUIRE(body.ok());
  if (!body->item || !body->item->contains(attribute)) return -1;
  return dynamo_integer(body->item->at(attribute)).value_or(-1);
}

// The host's, some time later.
struct LaterClock final : Clock {
  std::int64_t monotonic_ms() const override { return host.monotonic_ms() + passed_ms; }
  std::int64_t wall_ms() const override { return host.wall_ms(); }
  SystemClock host;
  std::atomic<std::int64_t> passed_ms = 0;
};

// What is handed to the thread, and what lives on it.
struct DynamoHandle::Loop {
  EventLoop loop;
  LaterClock clock;
  SystemRandom random;
  std::optional<AwsKeeper> keeper;
  std::optional<UvHttpClient> http;
  std::unique_ptr<DynamoStore> store;
  uv_async_t* wake = new uv_async_t;
  std::mutex mutex;  // guards calls
  std::vector<std::function<void()>> calls;
  std::thread thread;

  void submit(std::function<void()> call) {
    const std::lock_guard lock(mutex);
    calls.push_back(std::move(call));
    uv_async_send(wake);
  }
  void work() {
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard lock(mutex);
      now.swap(calls);
    }
    for (const auto& call : now) call();
  }
};

DynamoHandle::DynamoHandle(const DynamoStoreOptions& options, Credentials credentials)
    : loop_(std::make_unique<Loop>()) {
  loop_->keeper.emplace(std::make_unique<AwsConfigured>("test", std::move(credentials)),
                        loop_->loop, loop_->clock, loop_->random, options.timeout_ms,
                        [](const AwsNews& /*news*/) {});
  loop_->http.emplace(loop_->loop, concurrency());
  auto store = DynamoStore::open(*loop_->http, loop_->loop, loop_->clock, loop_->random, options,
                                 *loop_->keeper);
  INFO(store.status().to_string());
  REQUIRE(store.ok());
  loop_->store = std::move(*store);
  REQUIRE(uv_async_init(loop_->loop.raw(), loop_->wake,
                        [](uv_async_t* handle) { static_cast<Loop*>(handle->data)->work(); }) == 0);
  loop_->wake->data = loop_.get();
  loop_->thread = std::thread([loop = loop_.get()] { loop->loop.run(); });
}

DynamoHandle::~DynamoHandle() {
  loop_->submit([loop = loop_.get()] { loop->loop.stop(); });
  loop_->thread.join();
  loop_->store.reset();
  loop_->http.reset();
  uv_close(reinterpret_cast<uv_handle_t*>(loop_->wake),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
}

void DynamoHandle::pass(std::int64_t ms) {
  loop_->clock.passed_ms += ms;
}

template <typename Store, typename Answer, typename Request>
Answer DynamoHandle::ask(void (Store::*verb)(const Request&, std::function<void(Answer)>),
                         const Request& request) {
  auto answered = std::make_shared<std::promise<Answer>>();
  auto future = answered->get_future();
  loop_->submit([=, store = loop_->store.get()] {
    (store->*verb)(request, [answered](Answer answer) { answered->set_value(std::move(answer)); });
  });
  return future.get();
}

BlockingStore::LeaseMode DynamoHandle::lease_mode() const {
  return {lease_trace_word(loop_->store->trace()), ""};
}

LeaseOutcome DynamoHandle::lease(const LeaseRequest& request) {
  return ask(&LeaseStore::lease, request);
}

Resolution DynamoHandle::resolve(const LeaseRequest& request) {
  return ask(&LeaseStore::resolve, request);
}

StorePlace DynamoHandle::place() const {
  return loop_->store->place();
}

Result<Token> DynamoHandle::identify(const Token& candidate) {
  return ask(&LeaseStore::identify, candidate);
}

Result<ClaimOutcome> DynamoHandle::claim(const ClaimRequest& request) {
  return ask(&LeaseStore::claim, request);
}

Result<BeatOutcome> DynamoHandle::beat(const BeatRequest& request) {
  return ask(&LeaseStore::beat, request);
}

Result<CounterReading> DynamoHandle::read(const ReadRequest& request) {
  return ask(&LeaseStore::read, request);
}

Result<std::int64_t> DynamoHandle::advance(const AdvanceRequest& request) {
  return ask(&LeaseStore::advance, request);
}

ReturnOutcome DynamoHandle::return_range(const ReturnRequest& request) {
  return ask(&LeaseStore::return_range, request);
}

Result<InstanceRecords> DynamoHandle::forget(const ForgetRequest& request) {
  return ask(&LeaseStore::forget, request);
}

Result<RegisterReading> DynamoHandle::read_register(const RegisterQuery& query) {
  return ask(&RegisterStore::read_register, query);
}

RegisterOutcome DynamoHandle::write_register(const RegisterWrite& write) {
  return ask(&RegisterStore::write_register, write);
}

Result<std::vector<NumberRecord>> DynamoHandle::list_register(const RegisterPageQuery& query) {
  return ask(&RegisterStore::list_register, query);
}

}  // namespace seqd::testing
