#include "daemon/main/stores.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/main/store_warnings.h"
#include "daemon/os/files/posix_files.h"
#include "daemon/os/shared_segments.h"
#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {
namespace {

bool is_remote(const std::string& file) {
  const Result<FileSystemKind> kind = file_system_for(file);
  // If that cannot be determined, opening the file reports the error.
  return kind.ok() && *kind == FileSystemKind::remote;
}

void raise_lease_mode(EventSink& events, const std::string& store,
                      const BlockingStore::LeaseMode& mode) {
  events.raise({EventKind::lease_mode,
                "store \"" + store + "\": lease_mode " + mode.word + ": " + mode.reason,
                {{"STORE", store}, {"LEASE_MODE", mode.word}}});
}

}  // namespace

Result<std::unique_ptr<Stores>> Stores::open(const Configuration& configuration,
                                             StoreModules modules, Directory& witness,
                                             EventLoop& loop, const SystemClock& clock,
                                             EventSink& events) {
  std::unique_ptr<Stores> stores(new Stores(std::move(modules), witness));
  for (const auto& [name, settings] : configuration.stores) {
    // Before it is opened: the warning may explain why opening fails.
    stores->warn(name, warning_of_store(settings), events);
    if (settings.type == StoreType::dynamodb) {
      Status opened = stores->open_dynamo(name, settings, loop, clock, events);
      if (!opened.ok()) return Status(opened.code(), "store \"" + name + "\": " + opened.text());
      continue;
    }
    Result<std::shared_ptr<BlockingStore>> store = stores->open_one(settings);
    if (!store.ok()) {
      return Status(store.status().code(), "store \"" + name + "\": " + store.status().text());
    }
    Entry& entry = stores->entries_[name];
    entry.worker = std::make_unique<ThreadWorker>(loop, "store-" + name, (*store)->concurrency());
    if (const int inserts = (*store)->insert_concurrency(); inserts > 0)
      entry.inserter = std::make_unique<ThreadWorker>(loop, "insert-" + name, inserts);
    entry.worker_store = std::make_unique<WorkerStore>(
        std::move(*store), *entry.worker, entry.inserter ? *entry.inserter : *entry.worker,
        settings.type == StoreType::mongodb
            ? [&events, store_name = name](const BlockingStore::LeaseMode&
                                               mode) { raise_lease_mode(events, store_name, mode); }
            : WorkerStore::ModeObserver());
  }
  for (auto& [name, entry] : stores->entries_) {
    LeaseStore* store = entry.worker_store.get();
    if (store == nullptr) store = &entry.dynamo->store();
    entry.measured =
        std::make_unique<MeasuredStore>(*store, clock, configuration.stores.at(name).timeout_ms);
  }
  return stores;
}

void Stores::warn(const std::string& name, std::string warning, EventSink& events) {
  entries_[name].warning = std::move(warning);
  if (entries_[name].warning.empty()) return;
  events.raise({EventKind::store_warning,
                "store \"" + name + "\": " + entries_[name].warning,
                {{"STORE", name}}});
}

Status Stores::open_dynamo(const std::string& name, const StoreSettings& settings, EventLoop& loop,
                           const Clock& clock, EventSink& events) {
  Result<std::unique_ptr<OpenDynamo>> opened =
      modules_.dynamodb().open(name, settings, loop, clock, events);
  if (!opened.ok()) return opened.status();
  Entry& entry = entries_[name];
  entry.dynamo = std::move(*opened);
  const char* const word = lease_trace_word(entry.dynamo->trace());
  raise_lease_mode(events, name,
                   {word, settings.lease_mode == LeaseModeOption::automatic
                              ? "an item of DynamoDB has room for the record of a lease"
                              : std::string("lease_mode = \"") + word + "\" is configured"});
  return {};
}

Result<std::shared_ptr<BlockingStore>> Stores::open_one(const StoreSettings& settings) {
  switch (settings.type) {
    case StoreType::sqlite:
      return open_sqlite(settings);
    case StoreType::mongodb:
      return modules_.mongodb().open(settings);
    case StoreType::dynamodb:
      break;
  }
  ASSERT(false);  // open_dynamo() opens it
}

Result<std::shared_ptr<BlockingStore>> Stores::open_sqlite(const StoreSettings& settings) {
  if (is_remote(settings.path)) {
    return Status(ErrorCode::CONFIG,
                  "SQLite file " + settings.path +
                      " is on a network file system, where two hosts would lease the same IDs; "
                      "set path to a file on a local disk");
  }
  SqliteStoreOptions options;
  options.path = settings.path;
  // A file is not a server: no program needs its lock for longer, and a start waits so long.
  options.busy_timeout_ms =
      std::min(options.busy_timeout_ms, static_cast<int>(settings.timeout_ms));
  // After a reboot it must be gone: the file system may have lost the last transactions. A
  // segment of System V would stay behind when the daemon is decommissioned.
  if (witness_.kind() == FileSystemKind::memory && witness_.path() != kSharedSegments)
    options.boot_memory = &witness_;
  Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open_when_available(options);
  if (!opened.ok()) return opened.status();
  return std::shared_ptr<BlockingStore>(std::move(*opened));
}

SequenceTable::Stores Stores::by_name() const {
  SequenceTable::Stores out;
  for (const auto& [name, entry] : entries_) out[name] = entry.measured.get();
  return out;
}

InsertQueues::Stores Stores::that_insert() const {
  InsertQueues::Stores out;
  for (const auto& [name, entry] : entries_) {
    if (entry.inserter) out[name] = entry.worker_store.get();
  }
  return out;
}

Registers::Stores Stores::that_keep_registers() const {
  Registers::Stores out;
  for (const auto& [name, entry] : entries_) {
    if (entry.worker_store) {
      out[name] = entry.worker_store.get();
    } else {
      out[name] = &entry.dynamo->registers();
    }
  }
  return out;
}

Purge::Stores Stores::that_purge() const {
  Purge::Stores out;
  for (const auto& [name, entry] : entries_) out[name] = entry.worker_store.get();
  return out;
}

void Stores::abandoned(const std::string& name, const Token& instance) {
  const auto found = entries_.find(name);
  if (found != entries_.end() && found->second.worker_store)
    found->second.worker_store->abandoned(instance);
}

std::string Stores::lease_mode(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return "";
  const Entry& entry = found->second;
  return entry.dynamo ? lease_trace_word(entry.dynamo->trace())
                      : entry.worker_store->lease_mode().word;
}

const LeaseFigures& Stores::lease_figures(const std::string& name) const {
  return entries_.at(name).measured->figures();
}

void Stores::note_silence(Scopes& scopes) const {
  for (const auto& [name, entry] : entries_) scopes.note_silence(name, entry.measured->silent_ms());
}

bool Stores::quiet() const {
  return std::all_of(entries_.begin(), entries_.end(), [](const auto& each) {
    const Entry& entry = each.second;
    if (entry.inserter && !entry.inserter->quiet()) return false;
    return entry.worker ? entry.worker->quiet() : entry.dynamo->quiet();
  });
}

}  // namespace seqd
