// What the module mongodb.so offers: stores of MongoDB, with their driver (libmongoc). See
// daemon/os/modules/module.h.
#pragma once

#include <memory>

#include "daemon/base/status.h"
#include "daemon/main/config/config_settings.h"
#include "daemon/store/blocking_store.h"

namespace seqd {

// Main thread. Outlives its stores.
class MongoModule {
 public:
  virtual ~MongoModule() = default;
  // CONFIG when the settings cannot be used; a server that is away is no error.
  virtual Result<std::shared_ptr<BlockingStore>> open(const StoreSettings& settings) = 0;
};

}  // namespace seqd

// Starts the driver: once in a process. The caller owns what it returns.
extern "C" seqd::MongoModule* seqd_mongodb_module();
