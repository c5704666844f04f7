#include "daemon/main/modules/store_modules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/os/modules/module.h"

namespace seqd {
namespace {

// As the types are called in options.def.
constexpr char kMongodb[] = "mongodb";
constexpr char kDynamodb[] = "dynamodb";

// None: a store of that type needs no module.
std::optional<Module> module_of(StoreType type) {
  switch (type) {
    case StoreType::mongodb:
      return Module(kMongodb);
    case StoreType::dynamodb:
      return Module(kDynamodb);
    case StoreType::sqlite:
      break;
  }
  return std::nullopt;
}

// OK where it is loaded already.
template <typename Offered>
Status load_once(std::unique_ptr<Offered>& here, const char* name) {
  if (here) return {};
  const Result<void*> entry = Module(name).load();
  if (!entry.ok()) return entry.status();
  here.reset(reinterpret_cast<Offered* (*)()>(*entry)());
  return {};
}

}  // namespace

Result<StoreModules> StoreModules::load(const std::map<std::string, StoreSettings>& stores) {
  StoreModules modules;
  for (const auto& [name, settings] : stores) {
    Status status;
    if (settings.type == StoreType::mongodb) status = load_once(modules.mongodb_, kMongodb);
    if (settings.type == StoreType::dynamodb) status = load_once(modules.dynamodb_, kDynamodb);
    if (!status.ok()) return Status(status.code(), "store \"" + name + "\": " + status.text());
  }
  return modules;
}

MongoModule& StoreModules::mongodb() const {
  ASSERT(mongodb_ != nullptr);
  return *mongodb_;
}

DynamoModule& StoreModules::dynamodb() const {
  ASSERT(dynamodb_ != nullptr);
  return *dynamodb_;
}

std::string describe_store_modules() {
  return Module(kMongodb).description() + "\n" + Module(kDynamodb).description() + "\n";
}

Status check_store_module(StoreType type) {
  const std::optional<Module> module = module_of(type);
  return module ? module->load().status() : Status();
}

Result<Configuration> with_modules(Result<Configuration> next,
                                   const std::map<std::string, StoreSettings>& before) {
  if (!next.ok()) return next;
  for (const auto& [name, settings] : next->stores) {
    const bool known =
        std::any_of(before.begin(), before.end(),
                    [type = settings.type](const auto& one) { return one.second.type == type; });
    const std::optional<Module> module = known ? std::nullopt : module_of(settings.type);
    const Status found = module ? module->find().status() : Status();
    if (!found.ok()) return Status(found.code(), "store \"" + name + "\": " + found.text());
  }
  return next;
}

}  // namespace seqd
