#include "daemon/store/mongo/documents/mongo_record_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "daemon/store/mongo/documents/mongo_binding.h"

namespace seqd {
namespace {

constexpr char kToken[] = "token";
constexpr char kState[] = "state";
constexpr char kBegin[] = "begin";
constexpr char kEnd[] = "end";
constexpr char kCount[] = "count";
constexpr char kMeaning[] = "meaning";
constexpr char kStatement[] = "statement";
constexpr char kCollection[] = "collection";
constexpr char kKey[] = "key";

// What stands before the name of a field.
std::string prefix_of(const LeaseRequest& request) {
  return in_ledger(request) ? "" : mongo_slot_path(slot_of(request)) + ".";
}

std::int64_t integer_in(const Document& document, const std::string& field) {
  bson_iter_t found;
  const bool there = find_field(document.get(), field, &found) && BSON_ITER_HOLDS_INT(&found);
  return there ? bson_iter_as_int64(&found) : 0;
}

std::optional<Token> token_in(const Document& document, const std::string& field) {
  Token token;
  bson_iter_t found;
  const std::uint8_t* data = nullptr;
  std::uint32_t size = 0;
  if (find_field(document.get(), field, &found) && BSON_ITER_HOLDS_BINARY(&found))
    bson_iter_binary(&found, nullptr, &size, &data);
  if (size != token.size()) return std::nullopt;
  std::memcpy(token.data(), data, size);
  return token;
}

LeaseRecord::Sent sent_in(const Document& document, const std::string& prefix) {
  LeaseRecord::Sent sent{.count = integer_in(document, prefix + kCount)};
  sent.statement = static_cast<std::int32_t>(std::clamp<std::int64_t>(
      integer_in(document, prefix + kStatement), 1, std::numeric_limits<std::int32_t>::max()));
  const bool is_next = text_in(document.get(), prefix + kMeaning) == meaning_word(Meaning::next);
  sent.meaning = is_next ? Meaning::next : Meaning::last;
  return sent;
}

// OK where the counter's document has room for the record: what lies above it is an object, or is
// not there yet.
Status check_slots(const Document& counter, const LeaseRequest& request,
                   const MongoClients& clients) {
  bson_iter_t found;
  for (const char* field : {"seqd", kMongoSlots}) {
    if (!find_field(counter.get(), field, &found)) break;
    if (BSON_ITER_HOLDS_DOCUMENT(&found)) continue;
    return {ErrorCode::STORE_REFUSED,
            fmt::format("{}: the slots of leases are kept in seqd.slots, but {} is no object; "
                        "remove it, or set lease_mode = \"plain\"",
                        place_of(clients, request.binding), field)};
  }
  return {};
}

}  // namespace

std::string mongo_slot_path(const std::string& slot) {
  return std::string(kMongoSlots) + "." + slot;
}

std::string record_collection(const LeaseRequest& request) {
  return in_ledger(request) ? kMongoLedger : request.binding.collection;
}

Document record_filter(const LeaseRequest& request) {
  return in_ledger(request) ? std::move(Document().add("_id", slot_of(request)))
                            : key_filter(request.binding);
}

void require_record_token(Document& filter, const LeaseRequest& request,
                          const std::optional<Token>& token) {
  const std::string field = prefix_of(request) + kToken;
  if (token) {
    filter.add_binary(field, *token);
  } else {
    filter.add(field, Document().add("$exists", false));
  }
}

void require_record_state(Document& filter, const LeaseRequest& request, LeaseRecord::State state) {
  filter.add(prefix_of(request) + kState, record_state_word(state));
}

Document record_update(const LeaseRequest& request, const LeaseRecord& record, Document set) {
  const std::string prefix = prefix_of(request);
  set.add_binary(prefix + kToken, record.token)
      .add(prefix + kState, record_state_word(record.state))
      .add(prefix + kBegin, record.span.begin)
      .add(prefix + kEnd, record.span.end);
  if (record.state == LeaseRecord::State::sent) {
    set.add(prefix + kCount, record.sent.count)
        .add(prefix + kMeaning, meaning_word(record.sent.meaning))
        .add(prefix + kStatement, std::int64_t{record.sent.statement});
  }
  if (in_ledger(request))
    set.add(kCollection, request.binding.collection).add(kKey, request.binding.key);
  return std::move(Document()
                       .add("$set", set)
                       .add("$currentDate", Document().add(prefix + kMongoRecordTime, true)));
}

Document granted_record(const Token& token, const Document& begin, const Document& end) {
  return std::move(Document()
                       .add_binary(kToken, token)
                       .add(kState, record_state_word(LeaseRecord::State::granted))
                       .add(kBegin, begin)
                       .add(kEnd, end)
                       .add(kMongoRecordTime, "$$NOW"));
}

Result<std::optional<LeaseRecord>> record_in(const Document& document, const LeaseRequest& request,
                                             const MongoClients& clients) {
  if (!in_ledger(request)) {
    if (Status status = check_slots(document, request, clients); !status.ok()) return status;
  }
  const std::string prefix = prefix_of(request);
  bson_iter_t found;
  if (!find_field(document.get(), prefix + kToken, &found)) return std::optional<LeaseRecord>();
  const std::optional<Token> token = token_in(document, prefix + kToken);
  LeaseRecord record;
  record.token = token.value_or(Token{});
  // A state that this seqd does not know: nothing is issued of it.
  record.state = record_state_of(text_in(document.get(), prefix + kState))
                     .value_or(LeaseRecord::State::voided);
  const bool is_sent = record.state == LeaseRecord::State::sent;
  if (is_sent) record.sent = sent_in(document, prefix);
  record.span = {number_in(document.get(), prefix + kBegin),
                 number_in(document.get(), prefix + kEnd)};
  const bool good = token && (!is_sent || record.sent.count >= 1) &&
                    (!record.granted() || record.span.begin < record.span.end);
  if (good) return std::optional(record);
  return Status(ErrorCode::STORE_REFUSED,
                fmt::format("{}: the record of lease \"{}\" is not one that seqd wrote; remove it "
                            "if it was edited by hand",
                            in_ledger(request) ? clients.where(kMongoLedger)
                                               : place_of(clients, request.binding),
                            slot_of(request)));
}

bool is_void_in_ledger(const Document& document, const LeaseRequest& request) {
  return text_in(document.get(), "_id") == slot_of(request) &&
         text_in(document.get(), kState) == record_state_word(LeaseRecord::State::voided);
}

}  // namespace seqd
