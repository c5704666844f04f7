// StoreModules: the modules of stores in the network, each loaded when the first store of its type
// is opened. A daemon without such a store has none of their libraries in memory. Owned by Stores,
// which it outlives in part; main thread.
#pragma once

#include <memory>

#include "daemon/main/modules/dynamo_module.h"
#include "daemon/main/modules/mongo_module.h"

namespace seqd {

class StoreModules {
 public:
  // The same one each time. CONFIG when it cannot be loaded (Module::load).
  Result<MongoModule*> mongodb();
  Result<DynamoModule*> dynamodb();

 private:
  std::unique_ptr<MongoModule> mongodb_;
  std::unique_ptr<DynamoModule> dynamodb_;
};

// One line for each module: where it is, or what to do about it. Loads none.
std::string describe_store_modules();
// OK: the module that a store of this type needs is there and of this build, or none is needed.
Status check_store_module(StoreType type);

}  // namespace seqd
