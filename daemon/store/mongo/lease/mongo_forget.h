// MongoForget: removes what a MongoDB store keeps of one instance: the records of its lease slots,
// in the ledger and in the counters' documents, and finally its document of seqd_instances.
// Thread-safe as far as MongoClients is; refers to it, to the records and to the request.
//
// Invariant: the instance is marked before a record of it is removed, and its document is removed
// last. So a late look-up of a lease returns untraceable, and never that it was not applied.
#pragma once

#include <string>

#include "daemon/store/mongo/documents/mongo_instances.h"
#include "daemon/store/mongo/documents/mongo_lease_records.h"

namespace seqd {

class MongoForget {
 public:
  MongoForget(MongoClients& clients, MongoLeaseRecords& records, const ForgetRequest& request);

  Result<InstanceRecords> run();

 private:
  Status forget_slot(const ForgetRequest::LeaseSlot& slot);
  Status forget_one(const std::string& collection, Document filter, const std::string& field);
  Status forget_rest();
  Status forget_instance();

  MongoClients& clients_;
  MongoLeaseRecords& records_;
  MongoInstances instances_;
  const ForgetRequest& request_;
  const std::string name_;  // of the instance
  InstanceRecords found_;
};

}  // namespace seqd
