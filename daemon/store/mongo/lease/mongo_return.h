// MongoReturn: returns one range, or determines the outcome of that. The range and the record of
// its lease slot (mongo_lease_records.h) change together:
//
//   trace            reuse   what changes                                       by
//   slot             tail    the counter's number; the record                   one write
//                    parked  a new field seqd.returned.TOKEN; the record        one write
//   session          tail    the counter's number; the record                   a transaction
//                    parked  a new document of seqd_returned; the record        a transaction
//   plain            any     nothing: there is no record, so the range is kept  no write
//
// A change is conditional: the number is the end of the range (tail) or not below it (parked), and
// the counter's floor is not above the range.
//
// Invariant: the record is only replaced while it has the token that was seen in it, like that of a
// lease. So a return that arrives late, after it was given up or another operation of its lease
// slot followed, changes nothing. Thread-safe as far as MongoClients is; refers to it, to the
// records and to the request.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/documents/mongo_lease_records.h"
#include "daemon/store/mongo/lease/mongo_sessions.h"

namespace seqd {

class MongoReturn {
 public:
  MongoReturn(MongoClients& clients, MongoLeaseRecords& records, MongoSessions& sessions,
              const ReturnRequest& request);

  ReturnOutcome run();

 private:
  // The outcome that ends the return; none: it is tried again.
  using Step = std::optional<ReturnOutcome>;

  Step attempt();
  // `counter`: its document, none if it is missing.
  Result<std::optional<LeaseRecord>> read_record(const std::optional<Document>& counter);
  Step begin_without_record();
  Step check(const Document& counter, const MongoCounterState& state);
  // The write that changes the counter's document, with its condition.
  MongoWrite change_of(const Document& counter, Meaning meaning) const;
  Step apply(const MongoWrite& change);
  Step apply_in_transaction(const MongoWrite& change);
  Step conclude(const MongoWriteAnswer& answer);
  ReturnOutcome give_up(Status why);
  LeaseRecord record() const {
    return {.token = request_.token,
            .state = LeaseRecord::State::granted,
            .span = {request_.begin, request_.end}};
  }
  bool late() const { return std::chrono::steady_clock::now() > deadline_; }

  MongoClients& clients_;
  MongoLeaseRecords& records_;
  MongoSessions& sessions_;
  const ReturnRequest& request_;
  const LeaseRequest slot_;  // the return as the records see it
  const LeaseTrace trace_;
  const bool in_ledger_;     // the record: is_in_ledger(trace_)
  const std::string where_;  // host, collection and document
  const std::chrono::steady_clock::time_point deadline_;
  bool only_conflicts_ = true;  // so far, every failure was a conflict with other hosts
};

}  // namespace seqd
