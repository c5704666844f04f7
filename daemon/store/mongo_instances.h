// MongoInstances: the epochs of the daemons that use a MongoDB store, collection seqd_instances. A
// claim is one conditional write; of any number of copies of one state directory, one wins.
// Thread-safe as far as MongoClients is.
#pragma once

#include <string>
#include <vector>

#include "daemon/store/mongo_client.h"

namespace seqd {

inline constexpr char kMongoInstances[] = "seqd_instances";

class MongoInstances {
 public:
  explicit MongoInstances(MongoClients& clients) : clients_(clients) {}

  // An error leaves the outcome open: repeat the claim with the same nonce.
  Result<ClaimOutcome> claim(const ClaimRequest& request);

  // Whether every record of a lease that this instance made is still there: the instance is known,
  // and none of its records was swept.
  Result<bool> has_all_records(const Token& instance);
  // The sessions of its transactions, as announced.
  Result<std::vector<Document>> sessions(const Token& instance);
  // Adds one, instead of all others where `only`; keeps the newest `most`. Nothing where the
  // instance is not known.
  Status add_session(const Token& instance, const Document& session_id, bool only, std::size_t most,
                     const MongoConnection& connection);
  // To be said before a record is swept. Nothing where the instance is not known.
  Status note_swept(const std::string& instance);

 private:
  Result<ClaimOutcome> create(const ClaimRequest& request);

  MongoClients& clients_;
};

}  // namespace seqd
