// MongoCounter: one counter document, for the time of one lease. Every condition that the lease
// depends on (type, meaning, high-water mark, maximum) is in the filter of the findAndModify that
// moves the counter, so a counter that may not be used stays exactly as it was. Only if nothing
// matched, the document is read, to say why, or to create or convert it.
//
//   trace    what the lease sends                                    its record says
//   plain    the findAndModify                                       there is none
//   slot     the same, which writes the record, too                  granted
//   session  an update that announces the lease, then the            sent
//            findAndModify; both are statements of one numbered write
//            or, where it was announced with another number of IDs:  granted
//            a transaction of the findAndModify and the record
//
// Where parked ranges may be taken, the lowest one is taken instead, if there is one:
//
//   slot     one write of the counter's document removes it          parked
//   session  a transaction removes it, and checks the counter        parked
//
// For the records see mongo_lease_records.h.
//
// Thread-safe as far as MongoClients is; refers to it, to the records and to the request.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/documents/mongo_lease_records.h"
#include "daemon/store/mongo/documents/mongo_lease_sweep.h"
#include "daemon/store/mongo/driver/mongo_transaction.h"
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
  // The outcome that ends the lease; none: it is tried again.
  using Step = std::optional<LeaseOutcome>;

  // --- an attempt: mongo_counter.cc
  LeaseOutcome lease_in_attempts(bool index_known);
  // Sends the lease once. None: nothing matched, unless conflict_ or retrying_ says otherwise.
  Step increment();
  // The findAndModify that moves the counter.
  MongoWrite counter_write() const;
  // What the answer to the lease's last write means.
  Step conclude(MongoWriteAnswer answer);
  Step retry(MongoWriteAnswer answer);
  // `last`: why the last attempt failed, if it did.
  LeaseOutcome unknown_while_open(const Status& last = {}) const;
  LeaseOutcome refuse_by_validator(const Status& error);
  LeaseOutcome grant(const Document& counter) const;
  bool late() const { return std::chrono::steady_clock::now() > deadline_; }

  // --- after an attempt that matched nothing: mongo_counter.cc
  Step diagnose();
  Step compare(const std::optional<LeaseRecord>& record);

  // --- attempts that leave a record: mongo_counter_traced.cc
  Step increment_with_slot(MongoWrite write);
  // None: nothing is parked, or others changed it first.
  Step take_parked_slot();
  Step increment_in_transaction(const MongoWrite& write);
  Step increment_as_numbered(const MongoWrite& write);
  Step send_again(const LeaseRecord::Sent& sent);
  // On which condition a parked range is granted: the counter is at or above its end, and not below
  // the high-water mark.
  void require_above(Document& filter, LeasedSpan parked) const;
  // In a transaction: touches the counter on that condition.
  MongoWrite counter_check(LeasedSpan parked) const;

  // --- a document that is missing, or has a double: mongo_counter_creation.cc
  Step create();
  Status refused_mark(const Status& error, std::int64_t first) const;
  bool is_our_duplicate(const MongoWriteAnswer& answer) const;
  Step accept_double(const CounterNumber& number);
  Step convert(double from, std::int64_t to);

  MongoClients& clients_;
  MongoLeaseRecords& records_;
  MongoSessions& sessions_;
  MongoLeaseSweep& sweep_;
  const LeaseRequest& request_;
  const CounterBinding& binding_;
  const LeaseTrace trace_;
  const std::string where_;  // host, collection and document
  const std::chrono::steady_clock::time_point deadline_;

  // What the next attempt sends.
  Meaning meaning_;                        // configured, or what the mark was last seen to be
  std::int64_t floor_ = 0;                 // of the counter, as it was last read
  std::int64_t count_;                     // fewer than requested at the end of the sequence
  bool doubles_ = false;                   // the number may be a double, and is taken as it is
  std::optional<LeaseRecord::Sent> sent_;  // as the lease was announced last

  // What the attempts have met.
  bool open_ = false;                  // one may still be applied: MongoWriteAnswer::is_open
  std::optional<Status> conflict_;     // the last one: others changed the same
  bool retrying_ = false;              // the last one: an error that proves nothing of the document
  int failures_ = 0;                   // such errors
  int duplicates_ = 0;                 // upserts lost against another writer's
  std::int64_t parked_end_ = 0;        // of the range that was last found parked
  bool refused_by_validator_ = false;  // see above
  bool converted_ = false;             // a double was converted once
};

}  // namespace seqd
