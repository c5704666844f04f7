// MongoLeaseRecords: where MongoDB keeps the newest lease of each lease slot (one sequence of one
// instance), and the rule by which it is replaced. Thread-safe.
//
//   ledger, session: the document {_id: SLOT} of the collection seqd_leases
//   slot:            the field seqd.slots.SLOT of the counter's document
//
// In mode "session" the record is written before the lease, and says that it was sent. Its outcome
// is in the server's record of the numbered write (mongo_numbered_writes.h).
//
// Invariant: a record is only ever changed on condition that it still holds the token that was seen
// before. A lease slot has one lease under way at a time, so this orders its leases: once a token
// was followed by another, or given up, a request with it that arrives late changes nothing,
// however late. There is one record a lease slot, so what is kept is bounded by the lease slots.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "daemon/store/lease_trace.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

inline constexpr char kMongoLedger[] = "seqd_leases";

// What stands before the name of a record's field in the document that holds it.
std::string record_prefix(const LeaseRequest& request);

class MongoLeaseRecords {
 public:
  // Lease slots whose newest token is kept; that of any other is looked at again.
  static constexpr std::size_t kMostLeaseSlots = 65'536;

  explicit MongoLeaseRecords(MongoClients& clients) : clients_(clients) {}

  // The token that the lease slot's record is taken to hold; none: no record.
  std::optional<Token> newest(const LeaseRequest& request) const;
  void learn(const LeaseRequest& request, const std::optional<LeaseRecord>& record);

  // The lease slot is not used any more, and its records are removed.
  void forget(const LeaseRequest& request);
  // Creates an empty record for a lease slot without one. A write that requires this record can no
  // longer be applied once the record is removed.
  Status begin_slot(const LeaseRequest& request);
  // Whether a record that is not there was never made.
  Result<bool> never_made(const LeaseRequest& request);

  // The record in a document of the ledger, or in a counter's document that is read whole.
  Result<std::optional<LeaseRecord>> record_in(const Document& document,
                                               const LeaseRequest& request) const;
  // The ledger's, from the server's newest state.
  Result<std::optional<LeaseRecord>> read_ledger(const LeaseRequest& request);

  // Puts `record` in place of the newest token. For a transaction: none or an error with code 11000
  // where the record holds another token.
  MongoWrite ledger_entry(const LeaseRequest& request, const LeaseRecord& record) const;
  // Puts a lease that is about to be sent as a numbered write in place of the newest token.
  MongoWrite announcement(const LeaseRequest& request, const LeaseRecord::Sent& sent) const;
  // Puts `record` into the slot together with the fields of `set`, on the same condition.
  MongoWrite slot_change(const LeaseRequest& request, const LeaseRecord& record,
                         Document set) const;
  // Makes of a counter's `$inc` one that also puts the range into the slot, in one step.
  void add_slot(const LeaseRequest& request, Meaning meaning, std::int64_t count,
                MongoWrite& write) const;

  // Finds the lease, or gives its token up so that it can never be applied. Untraceable where a
  // validator refuses that: it is not applied, and nothing keeps it from being applied later.
  Resolution resolve(const LeaseRequest& request, bool* refused_by_validator = nullptr);

 private:
  // Of a lease whose record says that it was sent. Nothing: the record has changed meanwhile.
  std::optional<Resolution> resolve_sent(const LeaseRequest& request, const LeaseRecord& record);
  using LeaseSlot = std::pair<LeaseTrace, std::string>;
  static LeaseSlot slot(const LeaseRequest& request) {
    const LeaseTrace trace = trace_of(request.token);
    return {is_in_ledger(trace) ? LeaseTrace::ledger : trace, slot_of(request)};
  }
  MongoWrite voiding(const LeaseRequest& request, const std::optional<LeaseRecord>& seen,
                     LeaseRecord::State state = LeaseRecord::State::given_up) const;
  MongoWrite creation_with_void(const LeaseRequest& request, std::int64_t first) const;
  Result<MongoWrite> giving_up(const LeaseRequest& request, const std::optional<LeaseRecord>& seen,
                               bool counter_exists);

  MongoClients& clients_;
  mutable std::mutex mutex_;           // guards newest_
  std::map<LeaseSlot, Token> newest_;  // kMostLeaseSlots at most
};

}  // namespace seqd
