#include "daemon/main/stores.h"

#include <algorithm>
#include <utility>

#include "daemon/store/mongo_store.h"
#include "daemon/store/sqlite_store.h"

namespace seqd {
namespace {

// The store as the base class, whatever it is.
template <typename Store>
Result<std::shared_ptr<BlockingStore>> shared(Result<std::unique_ptr<Store>> opened) {
  if (!opened.ok()) return opened.status();
  return std::shared_ptr<BlockingStore>(std::move(*opened));
}

}  // namespace

Result<std::unique_ptr<Stores>> Stores::open(const Configuration& configuration, uv_loop_t* loop,
                                             EventSink& events) {
  std::unique_ptr<Stores> stores(new Stores);
  for (const auto& [name, settings] : configuration.stores) {
    Result<std::shared_ptr<BlockingStore>> store = stores->open_one(settings);
    if (!store.ok()) {
      return Status(store.status().code(), "store \"" + name + "\": " + store.status().text());
    }
    Entry& entry = stores->entries_[name];
    entry.worker = std::make_unique<ThreadWorker>(loop, "store-" + name, (*store)->concurrency());
    const WorkerStore::ModeTold tell = [&events,
                                        store_name = name](const BlockingStore::LeaseMode& mode) {
      events.raise({EventKind::lease_mode,
                    "store \"" + store_name + "\": lease_mode " + mode.word + ": " + mode.reason,
                    {{"STORE", store_name}, {"LEASE_MODE", mode.word}}});
    };
    entry.store = std::make_unique<WorkerStore>(
        std::move(*store), *entry.worker,
        settings.type == StoreType::mongodb ? tell : WorkerStore::ModeTold());
  }
  return stores;
}

Result<std::shared_ptr<BlockingStore>> Stores::open_one(const StoreSettings& settings) {
  if (settings.type == StoreType::sqlite) {
    SqliteStoreOptions options;
    options.path = settings.path;
    // A file is not a server: nobody needs its lock for longer, and a start waits for it.
    options.busy_timeout_ms =
        std::min(options.busy_timeout_ms, static_cast<int>(settings.timeout_ms));
    return shared(SqliteStore::open(options));
  }
  if (!driver_) driver_ = std::make_unique<MongoDriver>();
  MongoStoreOptions options;
  options.uri = settings.uri;
  options.database = settings.database;
  options.timeout_ms = static_cast<int>(settings.timeout_ms);
  options.concurrency = static_cast<int>(settings.concurrency);
  options.lease_mode = settings.lease_mode;
  options.unsafe_write_concern = settings.unsafe_write_concern;
  return shared(MongoStore::open(*driver_, options));
}

SequenceTable::Stores Stores::by_name() const {
  SequenceTable::Stores out;
  for (const auto& [name, entry] : entries_) out[name] = entry.store.get();
  return out;
}

void Stores::left_behind(const std::string& name, const Token& instance) {
  const auto found = entries_.find(name);
  if (found != entries_.end()) found->second.store->left_behind(instance);
}

std::string Stores::lease_mode(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? "" : found->second.store->lease_mode().word;
}

bool Stores::quiet() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& entry) { return entry.second.worker->quiet(); });
}

}  // namespace seqd
