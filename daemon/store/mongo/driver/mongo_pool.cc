#include "daemon/store/mongo/driver/mongo_pool.h"

#include <fmt/format.h>

#include "daemon/base/assertion.h"
#include "daemon/store/mongo/driver/mongo_attempts.h"

namespace seqd {

Result<std::unique_ptr<MongoPool>> MongoPool::open(const MongoTarget& target) {
  std::unique_ptr<MongoPool> opened(new MongoPool(target));
  if (mongoc_uri_get_srv_hostname(target.uri.get()) != nullptr) return opened;
  opened->make();
  if (opened->pool_ == nullptr) return Status(ErrorCode::CONFIG, opened->failure_.text());
  return opened;
}

MongoPool::~MongoPool() {
  if (pool_ != nullptr) mongoc_client_pool_destroy(pool_);
}

void MongoPool::make() {
  bson_error_t error = {};
  pool_ = mongoc_client_pool_new_with_error(target_.uri.get(), &error);
  ++attempts_;
  if (pool_ == nullptr) {
    failure_ = {ErrorCode::UNAVAILABLE,
                fmt::format("MongoDB at {}: {}", target_.hosts,
                            hide_secrets(error.message, target_.uri.get()))};
    return;
  }
  failure_ = {};
  ASSERT(mongoc_client_pool_set_error_api(pool_, MONGOC_ERROR_API_VERSION_2));
  watch_commands(pool_);
}

mongoc_client_pool_t* MongoPool::get() {
  const std::uint64_t seen = attempts_;
  const std::lock_guard lock(mutex_);
  // A call that waited for the lock uses the result of the call before it.
  if (pool_ == nullptr && attempts_ == seen) make();
  return pool_;
}

Status MongoPool::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace seqd
