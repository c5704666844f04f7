#include "daemon/store/mongo_store.h"

#include "daemon/store/mongo_advance.h"
#include "daemon/store/mongo_counter.h"

namespace seqd {

Result<std::unique_ptr<MongoStore>> MongoStore::open(const MongoDriver& driver,
                                                     const MongoStoreOptions& options) {
  auto target = read_mongo_uri(options);
  if (!target.ok()) return target.status();
  auto clients = MongoClients::open(driver, std::move(*target));
  if (!clients.ok()) return clients.status();
  return std::unique_ptr<MongoStore>(new MongoStore(std::move(*clients), options.concurrency));
}

LeaseOutcome MongoStore::lease(const LeaseRequest& request) {
  if (Status status = check_lease_request(request); !status.ok()) return refused(std::move(status));
  if (Status status = check_mongo_binding(request.binding); !status.ok())
    return refused(std::move(status));
  const std::pair<std::string, std::string> place(request.binding.collection,
                                                  request.binding.key_field);
  bool index_known = false;
  {
    const std::lock_guard lock(mutex_);
    index_known = indexed_.contains(place);
  }
  LeaseOutcome outcome = MongoCounter(*clients_, request).lease(index_known);
  if (!index_known && outcome.kind == LeaseOutcome::Kind::granted) {
    const std::lock_guard lock(mutex_);
    indexed_.insert(place);
  }
  return outcome;
}

Resolution MongoStore::resolve(const LeaseRequest&) {
  return {.kind = Resolution::Kind::untraceable, .begin = 0, .end = 0, .error = {}};
}

Result<ClaimOutcome> MongoStore::claim(const ClaimRequest& request) {
  return instances_.claim(request);
}

Result<CounterReading> MongoStore::read(const ReadRequest& request) {
  if (Status status = check_counter_binding(request.binding); !status.ok()) return status;
  if (Status status = check_mongo_binding(request.binding); !status.ok()) return status;
  return read_mongo_counter(*clients_, request.binding);
}

Result<std::int64_t> MongoStore::advance(const AdvanceRequest& request) {
  if (Status status = check_advance_request(request); !status.ok()) return status;
  if (Status status = check_mongo_binding(request.binding); !status.ok()) return status;
  return advance_mongo_counter(*clients_, request);
}

}  // namespace seqd
