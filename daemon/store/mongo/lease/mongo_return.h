// MongoReturn: returns one range, or determines the outcome of that. Range and record change as one
// step: in a transaction where the token says `ledger` or `session`, in the counter's document
// where it says `slot`. In `plain` mode there is nowhere to keep the token, and nothing is
// returned.
//
// Invariant: the lease slot's record is replaced only while it holds the token that was seen
// before, like that of a lease. So a return that arrives late, after it was given up or followed by
// another operation of its lease slot, changes nothing. Thread-safe as far as MongoClients is;
// refers to it, to the records and to the request.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "daemon/store/mongo/lease/mongo_binding.h"
#include "daemon/store/mongo/lease/mongo_lease_records.h"
#include "daemon/store/mongo/lease/mongo_sessions.h"

namespace seqd {

class MongoReturn {
 public:
  MongoReturn(MongoClients& clients, MongoLeaseRecords& records, MongoSessions& sessions,
              const ReturnRequest& request);

  ReturnOutcome run();

 private:
  // Either an outcome that ends the return, or none: look and try again.
  using Step = std::optional<ReturnOutcome>;

  Step attempt();
  Result<std::optional<LeaseRecord>> read_record(std::optional<Document>* counter);
  Step begin_slot();
  Step apply(const Document& counter, Meaning meaning);
  Step apply_in_transaction(const MongoWrite& counted);
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
  const std::string where_;  // host, collection and document
  const std::chrono::steady_clock::time_point deadline_;
  bool only_conflicts_ = true;  // so far, every failure was a conflict with other hosts
};

}  // namespace seqd
