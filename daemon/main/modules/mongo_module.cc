// The module mongodb.so begins here.
#include "daemon/main/modules/mongo_module.h"

#include <utility>

#include "daemon/store/mongo/driver/mongo_driver.h"
#include "daemon/store/mongo/mongo_store.h"

namespace seqd {
namespace {

class Mongo final : public MongoModule {
 public:
  Result<std::shared_ptr<BlockingStore>> open(const StoreSettings& settings) override {
    MongoStoreOptions options;
    options.uri = settings.uri;
    options.database = settings.database;
    options.timeout_ms = static_cast<int>(settings.timeout_ms);
    options.concurrency = static_cast<int>(settings.concurrency);
    options.lease_mode = settings.lease_mode;
    options.unsafe_write_concern = settings.unsafe_write_concern;
    Result<std::unique_ptr<MongoStore>> opened = MongoStore::open(driver_, options);
    if (!opened.ok()) return opened.status();
    return std::shared_ptr<BlockingStore>(std::move(*opened));
  }

 private:
  MongoDriver driver_;
};

}  // namespace
}  // namespace seqd

seqd::MongoModule* seqd_mongodb_module() {
  return new seqd::Mongo;
}
