// The module dynamodb.so begins here.
#include "daemon/main/modules/dynamo_module.h"

#include <utility>

#include "daemon/main/config/config_dynamo.h"
#include "daemon/main/modules/aws_access.h"
#include "daemon/os/system_random.h"
#include "daemon/store/dynamo/dynamo_store.h"
#include "daemon/uv/http/http_client.h"

namespace seqd {
namespace {

class Opened final : public OpenDynamo {
 public:
  Opened(const std::string& name, const StoreSettings& settings, EventLoop& loop,
         const Clock& clock, EventSink& events)
      : aws_(name, settings, loop, clock, events),
        http_(loop, static_cast<int>(settings.concurrency), settings.tls_ca_file) {}

  Status open(const StoreSettings& settings, Timers& timers, const Clock& clock) {
    Result<std::unique_ptr<DynamoStore>> opened =
        DynamoStore::open(http_, timers, clock, random_, dynamo_options(settings), aws_.provider());
    if (!opened.ok()) return opened.status();
    store_ = std::move(*opened);
    return {};
  }
  LeaseStore& store() override { return *store_; }
  RegisterStore& registers() override { return *store_; }
  LeaseTrace trace() const override { return store_->trace(); }
  bool quiet() const override { return aws_.quiet() && http_.quiet(); }

 private:
  AwsAccess aws_;
  UvHttpClient http_;
  SystemRandom random_;
  std::unique_ptr<DynamoStore> store_;
};

class Dynamo final : public DynamoModule {
 public:
  Result<std::unique_ptr<OpenDynamo>> open(const std::string& name, const StoreSettings& settings,
                                           EventLoop& loop, const Clock& clock,
                                           EventSink& events) override {
    auto opened = std::make_unique<Opened>(name, settings, loop, clock, events);
    if (Status status = opened->open(settings, loop, clock); !status.ok()) return status;
    return std::unique_ptr<OpenDynamo>(std::move(opened));
  }
};

}  // namespace
}  // namespace seqd

seqd::DynamoModule* seqd_dynamodb_module() {
  return new seqd::Dynamo;
}
