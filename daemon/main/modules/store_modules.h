// StoreModules: the modules of stores in the network. A daemon without such a store has none of
// their libraries in memory. Made once in a process; outlives the stores; main thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "daemon/main/config/config.h"
#include "daemon/main/modules/dynamo_module.h"
#include "daemon/main/modules/mongo_module.h"

namespace seqd {

class StoreModules {
 public:
  // Loads the modules that these stores need. CONFIG when one cannot be loaded (Module::load).
  static Result<StoreModules> load(const std::map<std::string, StoreSettings>& stores);

  // Where a store of that type was among them.
  MongoModule& mongodb() const;
  DynamoModule& dynamodb() const;

 private:
  std::unique_ptr<MongoModule> mongodb_;
  std::unique_ptr<DynamoModule> dynamodb_;
};

// One line for each module: where it is, or what to do about it. Loads none.
std::string describe_store_modules();
// OK: a store of this type needs no module, or its module was loaded. For a process that serves
// nothing: the libraries stay in memory.
Status check_store_module(StoreType type);
// `next`, or CONFIG where a module of its stores is missing. Those of types that are in use,
// `before`, are loaded. Any thread.
Result<Configuration> with_modules(Result<Configuration> next,
                                   const std::map<std::string, StoreSettings>& before);

}  // namespace seqd
