// MongoLeaseRecords: changes the records of lease slots, and looks leases up in them. Where a
// record is, and its fields: mongo_record_format.h. Thread-safe.
//
// Invariant: a record is only changed on condition that it still has the token that was seen in it
// before. A lease slot has one lease or return under way at a time, so this orders them: once a
// token was replaced by another, or made void, a request with it that arrives late changes nothing,
// however late. A lease slot has one record, so the lease slots bound the number of records.
//
//   write          trace            filter                        upsert   state written
//   replacement()  session          {_id: SLOT}, token            if none  sent, granted, parked
//                  slot             the counter's key, token      never    granted, parked
//   add_record()   slot             that of the lease, and token  never    granted
//   voiding()      session          {_id: SLOT}, token            if none  void, forgotten
//                  slot             the counter's key, token      never    void
//   void_counter() slot             the counter's key, no number  always   void
//
// "token": the record has the token that was seen, or there is no record if none was seen. If it is
// the request's own token, its state has to be "sent", too: every other state is final. Where the
// filter does not match, nothing is changed, and an upsert fails with error 11000.
//
// resolve() reads the record:
//
//   the record               state      the lease is
//   no counter (trace slot)             untraceable, where it existed or may not be made
//   of this lease            granted    granted
//                            parked     granted, from a parked range
//                            void       absent
//                            forgotten  untraceable
//                            sent       as resolve_sent() finds
//   none, and one may be lost           untraceable
//   none, and none was lost             absent, after voiding() or, if no counter, void_counter()
//   of another operation     any        absent, after voiding()
//
// If voiding() or void_counter() matches nothing, the record is read again; if a validator refuses
// them, the lease is untraceable.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "daemon/store/lease_trace.h"
#include "daemon/store/mongo/documents/mongo_record_format.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoLeaseRecords {
 public:
  // Lease slots whose newest token is kept; the record of another one is read again.
  static constexpr std::size_t kMostLeaseSlots = 65'536;

  explicit MongoLeaseRecords(MongoClients& clients) : clients_(clients) {}

  // --- the newest token of each lease slot
  // As it was read or written last; none: no record was seen.
  std::optional<Token> newest(const LeaseRequest& request) const;
  // The record was read so, or written.
  void learn(const LeaseRequest& request, const std::optional<LeaseRecord>& record);
  // The lease slot is not used any more, and its records are removed.
  void forget(const LeaseRequest& request);

  // --- reading
  // The record in the ledger, from the server's newest state. (That of a slot is in the counter's
  // document: record_in().)
  Result<std::optional<LeaseRecord>> read_ledger(const LeaseRequest& request);
  // Whether a record that is missing was never made: the instance never lost one.
  Result<bool> never_made(const LeaseRequest& request);

  // --- writes; the caller sends them
  // Puts `record` in place of the newest token. With the fields of `set`, which are the counter's:
  // of a slot only.
  MongoWrite replacement(const LeaseRequest& request, const LeaseRecord& record,
                         Document set = {}) const;
  // Makes of a slot's lease, which adds `count` to the counter, a write that puts the range that
  // the lease takes into the record as well.
  void add_record(const LeaseRequest& request, Meaning meaning, std::int64_t count,
                  MongoWrite& lease) const;

  // --- calls of the server
  // Makes a record in the ledger where there is none, with a token that no operation has. OK also
  // where one was made meanwhile.
  Status make_first(const LeaseRequest& request);
  // What became of the lease; see the table. `refused_by_validator`: it is untraceable because a
  // validator does not let it be made void, so nothing keeps it from being applied later.
  Resolution resolve(const LeaseRequest& request, bool* refused_by_validator = nullptr);

 private:
  // None: the record has changed meanwhile and has to be read again.
  using Found = std::optional<Resolution>;
  struct RecordPlace {
    bool in_counter = false;  // in the counter's document; else in the ledger
    std::string slot;         // the name of the lease slot
    auto operator<=>(const RecordPlace&) const = default;
  };
  static RecordPlace place_of_record(const LeaseRequest& request);

  MongoWrite write_of(const LeaseRequest& request, const LeaseRecord& record,
                      const std::optional<Token>& seen, Document set = {}) const;
  MongoWrite voiding(const LeaseRequest& request, const std::optional<Token>& seen,
                     LeaseRecord::State state = LeaseRecord::State::voided) const;
  Result<MongoWrite> void_counter(const LeaseRequest& request) const;

  // mongo_lease_resolution.cc
  Found resolve_once(const LeaseRequest& request, bool* refused_by_validator);
  Found resolve_own(const LeaseRequest& request, const LeaseRecord& record);
  Found resolve_sent(const LeaseRequest& request, const LeaseRecord& record);
  Found make_void(const LeaseRequest& request, const MongoWrite& write, bool* refused_by_validator);

  MongoClients& clients_;
  mutable std::mutex mutex_;             // guards newest_
  std::map<RecordPlace, Token> newest_;  // kMostLeaseSlots at most
};

}  // namespace seqd
