// The documents of seqd_register, in the database of the store; one for each number:
//
//   _id        {counter: NAME, period: PERIOD, number: N}
//   counter    NAME
//   state      "assigned", "confirmed", "void", "free"
//   ended      true: see mongo_register.h
//   key        whose it is now; no field once it was cancelled
//   text       as it was first written
//   assigned   {at, by}; so is `confirmed`
//   former     [{key, assigned, cancelled, reason}, ...], the oldest first
//
// and one with state "end" under the next number of a period that is closed: {at, by, swept}.
// People may change them by hand: what cannot be read is an error that names document and field.
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/core/registers/register_store.h"
#include "daemon/store/mongo/driver/mongo_values.h"

namespace seqd {

inline constexpr char kMongoRegister[] = "seqd_register";

// The name that a counter of the register would have.
std::string mongo_register_name(const RegisterPlace& place);

// --- filters: each names the register, which is the shard key where there is one.
Document number_filter(const RegisterPlace& place, std::int64_t number);
// All documents of the period above that number, its end among them.
Document period_filter(const RegisterPlace& place, std::int64_t after = 0);

// --- new documents
Document number_document(const RegisterPlace& place, const RegisterChange& add);
Document end_document(const RegisterPlace& place, const RegisterChange& close);
Document stamp_document(const Stamp& stamp);
// What stays of a key when a number is cancelled.
Document former_document(const std::string& key, const Stamp& assigned,
                         const RegisterChange& cancel);

// --- what a document says. `where`: host and collection, for errors.
Result<std::int64_t> number_of(const Document& document, const std::string& where);
bool is_end(const Document& document);
bool is_swept(const Document& document);
// What is free and ended is void: the close will write that, too.
Result<NumberRecord> record_of(const Document& document, const RegisterPlace& place,
                               const std::string& where);

}  // namespace seqd
