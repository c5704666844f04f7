// MongoInstances: the epochs of the daemons that use a MongoDB store, collection seqd_instances. A
// claim is one conditional write; of any number of copies of one state directory, one wins.
// Thread-safe as far as MongoClients is.
#pragma once

#include "daemon/store/mongo_client.h"

namespace seqd {

class MongoInstances {
 public:
  explicit MongoInstances(MongoClients& clients) : clients_(clients) {}

  // An error leaves the outcome open: repeat the claim with the same nonce.
  Result<ClaimOutcome> claim(const ClaimRequest& request);

 private:
  Result<ClaimOutcome> create(const ClaimRequest& request);

  MongoClients& clients_;
};

}  // namespace seqd
