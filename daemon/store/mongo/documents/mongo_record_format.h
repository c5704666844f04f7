// MongoRecordFormat: the record of a lease slot (LeaseRecord, daemon/store/lease_trace.h) in
// MongoDB: where it is, and its fields. Functions; any thread.
//
//   trace            the record is
//   session          the document {_id: SLOT} of the collection seqd_leases, the ledger
//   slot             the field seqd.slots.SLOT of the counter's document
//   plain            nowhere: no function here is called
//
//   field                      value
//   token                      of the newest lease or return of the lease slot
//   state                      record_state_word()
//   begin, end                 the range [begin, end) of "granted" and "parked"; else 0 and 0
//   at                         the server's time of the last change
//   count, meaning, statement  LeaseRecord::Sent; read in the state "sent" only
//   collection, key            the counter, for people; in the ledger only
//
// `request` names the lease slot, and with its token the trace.
#pragma once

#include <optional>
#include <string>

#include "daemon/store/lease_trace.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

inline constexpr char kMongoLedger[] = "seqd_leases";
inline constexpr char kMongoSlots[] = "seqd.slots";
inline constexpr char kMongoRecordTime[] = "at";  // the field

// Whether the record is in the ledger; else in the counter's document.
inline bool in_ledger(const LeaseRequest& request) {
  return is_in_ledger(trace_of(request.token));
}

// The path of a record in the counter's document. `slot`: slot_of() the lease.
std::string mongo_slot_path(const std::string& slot);

// The collection and the document that hold the record.
std::string record_collection(const LeaseRequest& request);
Document record_filter(const LeaseRequest& request);

// Adds to `filter` that the record has this token; none: that there is no record.
void require_record_token(Document& filter, const LeaseRequest& request,
                          const std::optional<Token>& token);
// Adds that the record is in this state.
void require_record_state(Document& filter, const LeaseRequest& request, LeaseRecord::State state);

// An update that writes all fields of the record, and the fields of `set`.
Document record_update(const LeaseRequest& request, const LeaseRecord& record, Document set = {});
// The record "granted" as a field of an update by pipeline: the server calculates `begin`, `end`.
Document granted_record(const Token& token, const Document& begin, const Document& end);

// The record in the document that holds it; none: there is no record. STORE_REFUSED: it is not one
// that seqd wrote. `clients` is for that text.
Result<std::optional<LeaseRecord>> record_in(const Document& document, const LeaseRequest& request,
                                             const MongoClients& clients);
// Whether `document` is the record of a lease in the ledger, and void. It may also be a counter,
// whatever it holds: then false.
bool is_void_in_ledger(const Document& document, const LeaseRequest& request);

}  // namespace seqd
