// DynamoServer: the real DynamoDB Local of the tests, named by an environment variable that
// tests/integration/servers/with_mongo.py sets, and a DynamoDB store on a loop of its own. A test
// whose server is missing fails.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/store/blocking_store.h"
#include "daemon/store/dynamo/dynamo_store.h"

namespace seqd::testing {

inline constexpr char kDynamoEndpoint[] = "SEQD_TEST_DYNAMO_ENDPOINT";

// Asks the service as any program does; one thread. Its tables are made once a process and empty at
// the beginning of each of these.
class DynamoServer {
 public:
  DynamoServer();
  ~DynamoServer();
  DynamoServer(const DynamoServer&) = delete;
  DynamoServer& operator=(const DynamoServer&) = delete;

  DynamoStoreOptions options() const;
  static AwsCredentials credentials() { return {"seqdtest", "a-secret", ""}; }

  // The body of the answer; a failure fails the test.
  std::string call(const std::string& operation, const std::string& body);
  // Replaces the item of that name in table counters; `attributes`: more than the key, as JSON.
  void put(const std::string& key, const std::string& attributes);
  void remove(const std::string& key);
  std::string item(const std::string& key);
  // Attribute seq; -1 when there is no such item or integer.
  std::int64_t number(const std::string& key, const std::string& attribute = "seq");

 private:
  struct Line;
  void empty(const std::string& table, const std::string& key_field);
  const std::unique_ptr<Line> line_;
};

// A DynamoDB store with a thread of its own, on which its loop runs; the calls block, and any
// thread may make them. Ends its thread.
class DynamoHandle final : public BlockingStore {
 public:
  // `credentials` are read on the thread, at the first request and after the service refused them.
  using Credentials = std::function<Result<AwsCredentials>()>;
  explicit DynamoHandle(
      const DynamoStoreOptions& options,
      Credentials credentials = [] { return Result<AwsCredentials>(DynamoServer::credentials()); });
  ~DynamoHandle() override;
  // The store's clock from now on is that much later.
  void pass(std::int64_t ms);

  LeaseMode lease_mode() const override;
  StorePlace place() const override;
  Result<Token> identify(const Token& candidate) override;
  LeaseOutcome lease(const LeaseRequest& request) override;
  Resolution resolve(const LeaseRequest& request) override;
  Result<ClaimOutcome> claim(const ClaimRequest& request) override;
  Result<BeatOutcome> beat(const BeatRequest& request) override;
  Result<CounterReading> read(const ReadRequest& request) override;
  Result<std::int64_t> advance(const AdvanceRequest& request) override;
  ReturnOutcome return_range(const ReturnRequest& request) override;
  Result<InstanceRecords> forget(const ForgetRequest& request) override;
  Result<RegisterReading> read_register(const RegisterQuery& query) override;
  RegisterOutcome write_register(const RegisterWrite& write) override;
  Result<std::vector<NumberRecord>> list_register(const RegisterPageQuery& query) override;
  int concurrency() const override { return 8; }

 private:
  struct Loop;
  template <typename Store, typename Answer, typename Request>
  Answer ask(void (Store::*verb)(const Request&, std::function<void(Answer)>),
             const Request& request);
  const std::unique_ptr<Loop> loop_;
};

}  // namespace seqd::testing
