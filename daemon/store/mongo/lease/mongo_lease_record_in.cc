// MongoLeaseRecords: what a record says that was read.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "daemon/store/mongo/lease/mongo_binding.h"
#include "daemon/store/mongo/lease/mongo_lease_records.h"

namespace seqd {
namespace {

std::string text_in(const Document& document, const std::string& field) {
  bson_iter_t found;
  const bool there = find_field(document.get(), field, &found) && BSON_ITER_HOLDS_UTF8(&found);
  return there ? bson_iter_utf8(&found, nullptr) : "";
}

// Of a lease that was sent as a numbered write.
LeaseRecord::Sent sent_in(const Document& document, const std::string& prefix) {
  const auto number = [&](const char* name) -> std::int64_t {
    bson_iter_t found;
    const bool there =
        find_field(document.get(), prefix + name, &found) && BSON_ITER_HOLDS_INT(&found);
    return there ? bson_iter_as_int64(&found) : 0;
  };
  LeaseRecord::Sent sent{.count = number("count")};
  sent.statement = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(number("statement"), 1, std::numeric_limits<std::int32_t>::max()));
  const bool is_next = text_in(document, prefix + "meaning") == meaning_word(Meaning::next);
  sent.meaning = is_next ? Meaning::next : Meaning::last;
  return sent;
}

}  // namespace

Result<std::optional<LeaseRecord>> MongoLeaseRecords::record_in(const Document& document,
                                                                const LeaseRequest& request) const {
  const std::string prefix = record_prefix(request);
  const bool in_ledger = is_in_ledger(trace_of(request.token));
  bson_iter_t found;
  for (const char* field : {"seqd", "seqd.slots"}) {
    if (in_ledger || !find_field(document.get(), field, &found)) break;
    if (BSON_ITER_HOLDS_DOCUMENT(&found)) continue;
    return Status(
        ErrorCode::STORE_REFUSED,
        fmt::format("{}: the slots of leases are kept in seqd.slots, but {} is no object; "
                    "remove it, or set lease_mode = \"plain\"",
                    place_of(clients_, request.binding), field));
  }
  if (!find_field(document.get(), prefix + "token", &found)) return std::optional<LeaseRecord>();
  LeaseRecord record;
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;
  if (BSON_ITER_HOLDS_BINARY(&found)) bson_iter_binary(&found, nullptr, &size, &data);
  const bool whole = size == record.token.size();
  if (whole) std::memcpy(record.token.data(), data, size);
  // What is not known was given up: nothing is issued of it.
  record.state =
      record_state_of(text_in(document, prefix + "state")).value_or(LeaseRecord::State::given_up);
  const bool is_sent = record.state == LeaseRecord::State::sent;
  if (is_sent) record.sent = sent_in(document, prefix);
  if (find_field(document.get(), prefix + "begin", &found))
    record.span.begin = bson_iter_as_int64(&found);
  if (find_field(document.get(), prefix + "end", &found))
    record.span.end = bson_iter_as_int64(&found);
  const bool good = whole && (!is_sent || record.sent.count >= 1) &&
                    (!record.granted() || record.span.begin < record.span.end);
  if (good) return std::optional(record);
  return Status(
      ErrorCode::STORE_REFUSED,
      fmt::format("{}: the record of lease \"{}\" is not one that seqd wrote; remove it "
                  "if it was edited by hand",
                  in_ledger ? clients_.where(kMongoLedger) : place_of(clients_, request.binding),
                  slot_of(request)));
}

}  // namespace seqd
