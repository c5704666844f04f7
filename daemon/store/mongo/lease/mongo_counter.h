// MongoCounter: one counter document, for the time of one lease. Every condition a lease depends on
// (type, meaning, high-water mark, maximum) stands in the filter of the one findAndModify that
// moves the counter, so a counter that may not be used is left exactly as it was; only then is the
// document read, to say why, or to create or convert it. The lease leaves a record as its token is
// marked: in one transaction with the counter, in the counter's own document, in the server's
// record of numbered writes, or none.
//
// Thread-safe as far as MongoClients is; refers to it, to the records and to the request.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "daemon/store/mongo/driver/mongo_transaction.h"
#include "daemon/store/mongo/lease/mongo_binding.h"
#include "daemon/store/mongo/lease/mongo_lease_records.h"
#include "daemon/store/mongo/lease/mongo_lease_sweep.h"
#include "daemon/store/mongo/lease/mongo_sessions.h"

namespace seqd {

class MongoCounter {
 public:
  MongoCounter(MongoClients& clients, MongoLeaseRecords& records, MongoSessions& sessions,
               MongoLeaseSweep& sweep, const LeaseRequest& request);

  // `index_known`: that the key field has a unique index was seen before.
  LeaseOutcome lease(bool index_known);
  // Whether the validator of the collection refused the lease.
  bool refused_by_validator() const { return refused_by_validator_; }

 private:
  // Either an outcome that ends the lease, or none: try again.
  using Step = std::optional<LeaseOutcome>;

  Step increment();
  Step increment_with_slot(MongoWrite write);
  // What is parked; nothing: nothing is, or it is gone.
  Step take_parked_slot();
  // What a range that is parked is granted on condition of: the high-water mark's, and that the
  // counter is above it.
  void require_above(Document& filter, LeasedSpan parked) const;
  MongoWrite counter_check(LeasedSpan parked) const;
  Step increment_in_transaction(const MongoWrite& write);
  Step increment_as_numbered(const MongoWrite& write);
  Step send_again(const LeaseRecord::Sent& sent);
  Step conclude(MongoWriteAnswer answer);
  Step retry(MongoWriteAnswer answer);
  LeaseOutcome refuse_by_validator(const Status& error);
  Step diagnose();
  Step compare(const std::optional<LeaseRecord>& record);
  Step create();
  Status refused_mark(const Status& error, std::int64_t first) const;
  Step accept_double(const CounterNumber& number);
  Step convert(double from, std::int64_t to);
  MongoWrite counter_write() const;
  LeaseOutcome grant(const Document& document) const;
  bool is_our_duplicate(const MongoWriteAnswer& answer) const;
  bool late() const { return std::chrono::steady_clock::now() > deadline_; }

  MongoClients& clients_;
  MongoLeaseRecords& records_;
  MongoSessions& sessions_;
  MongoLeaseSweep& sweep_;
  const LeaseRequest& request_;
  const CounterBinding& binding_;
  const LeaseTrace trace_;
  const std::string where_;  // host, collection and document
  const std::chrono::steady_clock::time_point deadline_;
  Meaning meaning_;                      // configured, or what the mark was last seen to be
  std::int64_t count_;                   // shortened at the end of the sequence
  int duplicates_ = 0;                   // upserts lost against another writer's
  int failures_ = 0;                     // transactions that failed otherwise than by a conflict
  std::optional<Status> conflict_ = {};  // with which the transaction was refused
  std::optional<LeaseRecord::Sent> sent_ = {};  // as the lease was announced last
  std::int64_t parked_end_ = 0;                 // of the range that was last found parked
  bool refused_by_validator_ = false;
  bool converted_ = false;
  bool doubles_ = false;   // others write them, and the lease has to take them as they are
  bool retrying_ = false;  // the last step proved nothing about the document: just try again
};

}  // namespace seqd
