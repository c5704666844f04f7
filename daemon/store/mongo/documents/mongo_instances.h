// MongoInstances: the epochs and heartbeats of the daemons that use a MongoDB store, collection
// seqd_instances, and the identity of the database, a document there. A claim is one conditional
// write; of any number of copies of one state directory, one wins. Thread-safe as far as
// MongoClients is.
#pragma once

#include <string>
#include <vector>

#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

inline constexpr char kMongoInstances[] = "seqd_instances";

class MongoInstances {
 public:
  explicit MongoInstances(MongoClients& clients) : clients_(clients) {}

  // The identity of the database: `candidate` where it has none yet.
  Result<Token> identify(const Token& candidate);

  // An error leaves the outcome open: repeat the claim with the same nonce.
  Result<ClaimOutcome> claim(const ClaimRequest& request);

  // Compares and raises a heartbeat.
  Result<BeatOutcome> beat(const BeatRequest& request);
  // Whether the database is an older copy. An error: not known.
  Result<BeatOutcome> compare(const Token& instance, std::int64_t known);

  // Whether every record of a lease that this instance made is still there: the instance is known,
  // and none of its records was swept.
  Result<bool> has_all_records(const Token& instance);
  // The sessions of its transactions, as announced.
  Result<std::vector<Document>> sessions(const Token& instance);
  // Adds one, and keeps the newest `most`. Nothing where the instance is not known.
  Status add_session(const Token& instance, const Document& session_id, std::size_t most,
                     const MongoConnection& connection);
  // To be called before a record is swept. Nothing where the instance is not known.
  Status note_swept(const std::string& instance);

 private:
  Result<ClaimOutcome> create(const ClaimRequest& request);
  Result<BeatOutcome> look(const Token& instance, std::int64_t known);

  MongoClients& clients_;
};

}  // namespace seqd
