#include "daemon/store/dynamo/lease/dynamo_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr char kLease[] = "seqd_lease:";
constexpr char kEnd[] = "seqd_end:";
constexpr std::size_t kInstanceDigits = 32;

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

std::optional<Token> token_of(const std::string& text) {
  Token token{};
  if (text.size() != 2 * token.size()) return std::nullopt;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int value = hex_value(text[at]);
    if (value < 0) return std::nullopt;
    token[at / 2] = static_cast<std::uint8_t>(token[at / 2] << 4 | value);
  }
  return token;
}

const DynamoScalar* member(const DynamoValue& value, const std::string& name) {
  const auto found = value.members.find(name);
  return found == value.members.end() ? nullptr : &found->second;
}

std::int64_t integer_member(const DynamoValue& value, const std::string& name) {
  const DynamoScalar* const found = member(value, name);
  return found == nullptr ? 0 : dynamo_integer(*found).value_or(0);
}

std::string text_member(const DynamoValue& value, const std::string& name) {
  const DynamoScalar* const found = member(value, name);
  return found != nullptr && found->kind == DynamoScalar::Kind::text ? found->text : std::string();
}

// The end of a lease is the sum that the service made of the counter's number. One of a fraction
// has no ID in it that is an integer from end to end: it granted nothing.
bool is_fraction(const DynamoScalar& number) {
  return number.kind == DynamoScalar::Kind::number && !dynamo_integer(number) &&
         number.text.find('.') != std::string::npos;
}

void set_record(DynamoUpdate& update, const std::string& slot, const Token& token,
                const char* state, std::int64_t count, const std::optional<Token>& newest,
                std::int64_t wall_ms) {
  const std::string name = kLease + slot;
  if (newest) {
    update.require_member(name, "token", dynamo_text(to_hex(*newest)));
  } else {
    update.require_missing(name);
  }
  update.set(name, dynamo_map({{"token", dynamo_text(to_hex(token))},
                               {"state", dynamo_text(state)},
                               {"count", dynamo_number(count)},
                               {"at", dynamo_number(wall_ms / 1000)}}));
}

}  // namespace

Result<std::optional<LeaseRecord>> record_in(const DynamoItem& item, const std::string& slot,
                                             const std::string& where) {
  const auto found = item.find(kLease + slot);
  if (found == item.end()) return std::optional<LeaseRecord>();
  const auto end = item.find(kEnd + slot);
  const std::optional<Token> token = token_of(text_member(found->second, "token"));
  LeaseRecord record;
  record.token = token.value_or(Token{});
  const std::string state = text_member(found->second, "state");
  const bool of_fraction = state == "granted" && end != item.end() && is_fraction(end->second);
  if (!of_fraction) record.state = record_state_of(state).value_or(LeaseRecord::State::voided);
  record.span.end = end == item.end() ? 0 : dynamo_integer(end->second).value_or(0);
  const std::int64_t count = integer_member(found->second, "count");
  const bool whole =
      record.granted() ? count > 0 && count < record.span.end : state == "void" || of_fraction;
  if (!token || !whole)
    return Status(ErrorCode::STORE_REFUSED,
                  fmt::format("{}: the attributes {}{} and {}{} are not as seqd wrote them; remove "
                              "both if they were edited by hand",
                              where, kLease, slot, kEnd, slot));
  record.span =
      record.granted() ? LeasedSpan{record.span.end - count, record.span.end} : LeasedSpan{};
  return std::optional(record);
}

void put_record(DynamoUpdate& update, const std::string& slot, const LeaseRecord& record,
                const std::optional<Token>& newest, std::int64_t wall_ms) {
  ASSERT(record.granted() == (record.span.begin < record.span.end));
  set_record(update, slot, record.token, record_state_word(record.state),
             record.span.end - record.span.begin, newest, wall_ms);
  update.set(kEnd + slot, dynamo_number(record.span.end));
}

void put_lease(DynamoUpdate& update, const std::string& slot, const Token& token,
               std::int64_t count, const std::string& counter_field, std::int64_t more,
               const std::optional<Token>& newest, std::int64_t wall_ms) {
  ASSERT(count > 0);
  set_record(update, slot, token, "granted", count, newest, wall_ms);
  update.set_sum(kEnd + slot, counter_field, more);
}

std::vector<std::string> outdated_slots(const DynamoItem& item, const std::string& slot,
                                        std::int64_t wall_ms) {
  std::vector<std::pair<std::int64_t, std::string>>
      found;  // when it was written, and the lease slot
  for (const auto& [name, value] : item) {
    if (!name.starts_with(kLease) || name == kLease + slot) continue;
    std::string other = name.substr(sizeof kLease - 1);
    if (other.size() > kInstanceDigits)
      found.emplace_back(integer_member(value, "at"), std::move(other));
  }
  std::sort(found.begin(), found.end());
  const std::int64_t oldest_s = (wall_ms - kDynamoRecordsKeptMs) / 1000;
  const std::int64_t idle_s = (wall_ms - kDynamoRecordsIdleMs) / 1000;
  std::vector<std::string> out;
  for (std::size_t at = 0; at < found.size() && out.size() < kMostDynamoSwept; ++at) {
    const std::size_t left = found.size() - at;
    const bool idle = left > kMostDynamoRecords && found[at].first < idle_s;
    if (found[at].first < oldest_s || idle || left > kRoomForDynamoRecords)
      out.push_back(found[at].second);
  }
  return out;
}

bool has_record(const DynamoItem& item, const std::string& slot) {
  return item.contains(kLease + slot);
}

void remove_record(DynamoUpdate& update, const std::string& slot) {
  update.remove(kLease + slot).remove(kEnd + slot);
}

std::string instance_of_slot(const std::string& slot) {
  ASSERT(slot.size() > kInstanceDigits);
  return slot.substr(0, kInstanceDigits);
}

}  // namespace seqd
