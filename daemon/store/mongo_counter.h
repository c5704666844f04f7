// MongoCounter: one counter document, for the time of one call. Every condition a lease depends on
// (type, meaning, guard, maximum) stands in the filter of the one findAndModify that moves the
// counter, so a counter that may not be used is left exactly as it was; only then is the document
// read, to say why, or to create or convert it.
//
// Thread-safe as far as MongoClients is; refers to it and to the request.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "daemon/store/counter_value.h"
#include "daemon/store/mongo_client.h"

namespace seqd {

// CONFIG when a document cannot have such a collection, key or field.
Status check_mongo_binding(const CounterBinding& binding);

// What the server's newest state says of a counter; linearizable on a replica set.
Result<CounterReading> read_mongo_counter(MongoClients& clients, const CounterBinding& binding);

class MongoCounter {
 public:
  MongoCounter(MongoClients& clients, const LeaseRequest& request);

  // `index_known`: that the key field has a unique index was seen before.
  LeaseOutcome lease(bool index_known);

 private:
  // Either an outcome that ends the lease, or none: try again.
  using Step = std::optional<LeaseOutcome>;

  Step increment();
  Step diagnose();
  Step create();
  Step convert(double from, std::int64_t to);
  Status check_index();
  LeaseOutcome grant(const Document& document) const;
  bool is_our_duplicate(const MongoWriteAnswer& answer) const;

  MongoClients& clients_;
  const LeaseRequest& request_;
  const CounterBinding& binding_;
  const std::string where_;  // host, collection and document
  const std::chrono::steady_clock::time_point deadline_;
  Meaning meaning_;     // configured, or what the mark was last seen to be
  std::int64_t count_;  // shortened at the end of the sequence
  int duplicates_ = 0;  // upserts lost against somebody else's
};

}  // namespace seqd
