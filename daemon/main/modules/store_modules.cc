#include "daemon/main/modules/store_modules.h"

#include "daemon/os/modules/module.h"

namespace seqd {
namespace {

// As the types are called in options.def.
constexpr char kMongodb[] = "mongodb";
constexpr char kDynamodb[] = "dynamodb";

template <typename Offered>
Result<Offered*> loaded(std::unique_ptr<Offered>& here, const char* name) {
  if (here) return here.get();
  const Result<void*> entry = Module(name).load();
  if (!entry.ok()) return entry.status();
  here.reset(reinterpret_cast<Offered* (*)()>(*entry)());
  return here.get();
}

}  // namespace

Result<MongoModule*> StoreModules::mongodb() {
  return loaded(mongodb_, kMongodb);
}

Result<DynamoModule*> StoreModules::dynamodb() {
  return loaded(dynamodb_, kDynamodb);
}

std::string describe_store_modules() {
  return Module(kMongodb).description() + "\n" + Module(kDynamodb).description() + "\n";
}

Status check_store_module(StoreType type) {
  if (type == StoreType::sqlite) return {};
  return Module(type == StoreType::mongodb ? kMongodb : kDynamodb).find().status();
}

}  // namespace seqd
