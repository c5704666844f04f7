// Stores: the central stores of the configuration, opened, each behind workers or a client of its
// own. Made once by the Daemon; loop thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/events.h"
#include "daemon/base/files/files.h"
#include "daemon/core/insert/insert_queues.h"
#include "daemon/core/leasing/measured_store.h"
#include "daemon/core/registers/registers.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/core/upkeep/purge.h"
#include "daemon/main/config/config.h"
#include "daemon/main/modules/store_modules.h"
#include "daemon/os/system_clock.h"
#include "daemon/store/worker_store.h"
#include "daemon/uv/event_loop.h"
#include "daemon/uv/thread_worker.h"

namespace seqd {

class Stores {
 public:
  // CONFIG or STORE_REFUSED when a store cannot be used as configured. A server that is away is no
  // error, nor a file that is locked or has no room.
  // `modules`: those that the configuration needs. `witness` outlives them.
  static Result<std::unique_ptr<Stores>> open(const Configuration& configuration,
                                              StoreModules modules, Directory& witness,
                                              EventLoop& loop, const SystemClock& clock,
                                              EventSink& events);

  SequenceTable::Stores by_name() const;
  // Those that can insert documents.
  InsertQueues::Stores that_insert() const;
  Registers::Stores that_keep_registers() const;
  // Null for stores whose counters cannot be listed.
  Purge::Stores that_purge() const;
  // This state directory was `instance` to the store before its remainder was forfeited.
  void abandoned(const std::string& name, const Token& instance);
  // How leases are traced; empty: not known yet.
  std::string lease_mode(const std::string& name) const;
  // What weakens its promises; empty: nothing is known.
  const std::string& warning(const std::string& name) const { return entries_.at(name).warning; }
  // Of a store that is configured; as long as this lives.
  const LeaseFigures& lease_figures(const std::string& name) const;
  // Notes for how long stores have not answered.
  void note_silence(Scopes& scopes) const;
  // No call is under way.
  bool quiet() const;

 private:
  // A store that blocks has workers.
  struct Entry {
    std::unique_ptr<ThreadWorker> worker;
    std::unique_ptr<ThreadWorker> inserter;  // null where nothing is inserted
    std::unique_ptr<WorkerStore> worker_store;
    std::unique_ptr<OpenDynamo> dynamo;
    std::unique_ptr<MeasuredStore> measured;  // one of the two, as the core sees it
    std::string warning;
  };
  Stores(StoreModules modules, Directory& witness)
      : witness_(witness), modules_(std::move(modules)) {}
  Status open_dynamo(const std::string& name, const StoreSettings& settings, EventLoop& loop,
                     const Clock& clock, EventSink& events);
  void warn(const std::string& name, std::string warning, EventSink& events);
  Result<std::shared_ptr<BlockingStore>> open_one(const StoreSettings& settings);
  Result<std::shared_ptr<BlockingStore>> open_sqlite(const StoreSettings& settings);

  Directory& witness_;
  const StoreModules modules_;  // outlives the stores
  std::map<std::string, Entry> entries_;
};

}  // namespace seqd
