#include "daemon/store/dynamo/register/dynamo_register_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/store/dynamo/dynamo_names.h"
#include "protocol/text/utf8.h"

namespace seqd {
namespace {

constexpr std::size_t kLongestKey = 2'048;  // of an item, in bytes

// Reads the attributes of one item; the first that is wrong is remembered.
class AttributeReader {
 public:
  explicit AttributeReader(const DynamoItem& item) : item_(item) {}

  bool has(const std::string& name) const { return item_.contains(name); }
  std::string text(const std::string& name) { return text_of(find(name), name); }
  std::int64_t number(const std::string& name) { return number_of(find(name), name); }
  // {at, by}
  Stamp stamp(const std::string& name) { return stamp(name, "at", "by"); }
  Stamp stamp(const std::string& name, const char* at, const char* by) {
    return {number_of(member(name, at), name + "." + at),
            text_of(member(name, by), name + "." + by)};
  }
  std::string text(const std::string& name, const char* within) {
    return text_of(member(name, within), name + "." + within);
  }
  void refuse(const std::string& name, const char* why) {
    if (wrong_.empty()) wrong_ = fmt::format("attribute {}: {}", name, why);
  }
  // Empty: nothing.
  const std::string& wrong() const { return wrong_; }

 private:
  const DynamoValue* find(const std::string& name) const {
    const auto found = item_.find(name);
    return found == item_.end() ? nullptr : &found->second;
  }
  const DynamoScalar* member(const std::string& name, const char* within) const {
    const DynamoValue* const map = find(name);
    if (map == nullptr || !map->is_map) return nullptr;
    const auto found = map->members.find(within);
    return found == map->members.end() ? nullptr : &found->second;
  }
  std::string text_of(const DynamoScalar* value, const std::string& name) {
    if (value != nullptr && value->kind == DynamoScalar::Kind::text) return value->text;
    refuse(name, "a text (S) is needed");
    return "";
  }
  std::int64_t number_of(const DynamoScalar* value, const std::string& name) {
    const auto number = value == nullptr ? std::nullopt : dynamo_integer(*value);
    if (!number) refuse(name, "an integer (N) is needed");
    return number.value_or(0);
  }

  const DynamoItem& item_;
  std::string wrong_;
};

std::optional<NumberState> state_of_word(std::string_view word) {
  for (const NumberState state :
       {NumberState::assigned, NumberState::confirmed, NumberState::voided, NumberState::free}) {
    if (word == number_state_word(state)) return state;
  }
  return std::nullopt;
}

void read_former(AttributeReader& reader, const DynamoItem& item, NumberRecord& record) {
  const std::int64_t count = reader.number("seqd_formers");
  if (count < 0 || static_cast<std::size_t>(count) > item.size())
    reader.refuse("seqd_formers", "it is not the number of those that follow");
  if (!reader.wrong().empty()) return;
  for (std::int64_t at = 0; at < count; ++at) {
    const std::string name = "seqd_former:" + std::to_string(at);
    record.former.push_back({.key = reader.text(name, "key"),
                             .assigned = reader.stamp(name, "assigned_at", "assigned_by"),
                             .cancelled = reader.stamp(name, "cancelled_at", "cancelled_by"),
                             .reason = reader.text(name, "reason")});
  }
  if (reader.has("seqd_former:" + std::to_string(count)))
    reader.refuse("seqd_formers", "it is not the number of those that follow");
  // What a refill compares.
  std::set<std::string> had;
  for (const FormerKey& former : record.former)
    if (!former.key.empty()) had.insert(former.key);
  const auto found = item.find("seqd_had");
  if (had != (found == item.end() ? std::set<std::string>() : found->second.elements))
    reader.refuse("seqd_had", "it is not the set of the keys that follow");
}

}  // namespace

std::string dynamo_register_name(const RegisterPlace& place) {
  return place.period.empty() ? place.binding.key : place.binding.key + "@" + place.period;
}

DynamoRegisterItems::DynamoRegisterItems(const RegisterPlace& place, std::string where)
    : place_(place),
      where_(std::move(where)),
      head_(kDynamoRegister),
      name_(fmt::format(":{}:{}:", place.binding.key.size(), place.binding.key)) {}

std::string DynamoRegisterItems::number_key(const std::string& period, std::int64_t number) const {
  return fmt::format("{}number{}{}:{}", head_, name_, period, number);
}

DynamoKey DynamoRegisterItems::key(const std::string& item) const {
  return {place_.binding.collection, place_.binding.key_field, item};
}

DynamoKeys DynamoRegisterItems::keys(std::vector<std::string> items) const {
  return {place_.binding.collection, place_.binding.key_field, std::move(items)};
}

Status DynamoRegisterItems::check_key(const std::string& key) const {
  const bool good = protocol::is_utf8(key);
  if (good && key_key(key).size() <= kLongestKey) return {};
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}: the key \"{}\" of register \"{}\" cannot be that of an item: allowed is "
                      "UTF-8, together with the name of the register at most {} bytes",
                      where_, good ? key.substr(0, 300) : "?", place_.binding.key,
                      kLongestKey - key_key("").size())};
}

Status DynamoRegisterItems::by_hand(const std::string& item, const std::string& what) const {
  return {ErrorCode::STORE_REFUSED,
          fmt::format("{}, item {{{}: \"{}\"}}: {}; it was changed by hand, and nothing is "
                      "concluded from it: correct it",
                      where_, place_.binding.key_field, item, what)};
}

Result<DynamoPeriod> DynamoRegisterItems::read_period(const std::optional<DynamoItem>& item) const {
  DynamoPeriod period;
  if (!item) return period;
  AttributeReader reader(*item);
  period.closed = reader.has("seqd_closed");
  if (reader.has("seqd_highest") || reader.has("seqd_first")) {
    period.first = reader.number("seqd_first");
    period.highest = reader.number("seqd_highest");
    if (period.first < 1 || period.first > period.highest)
      reader.refuse("seqd_first", "it is not the lowest number of the period");
  }
  if (!reader.wrong().empty()) return by_hand(period_key(), reader.wrong());
  return period;
}

Result<std::vector<std::int64_t>> DynamoRegisterItems::read_free(
    const std::optional<DynamoItem>& item) const {
  std::vector<std::int64_t> numbers;
  const auto found = item ? item->find("seqd_free") : DynamoItem::const_iterator();
  if (!item || found == item->end()) return numbers;
  for (const std::string& element : found->second.elements) {
    const auto number = dynamo_integer(DynamoScalar{DynamoScalar::Kind::number, element});
    if (!number) break;
    numbers.push_back(*number);
  }
  if (numbers.empty() || numbers.size() != found->second.elements.size())
    return by_hand(free_key(), "attribute seqd_free: a set of integers (NS) is needed");
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<std::optional<DynamoOwned>> DynamoRegisterItems::read_owned(const DynamoItems& items,
                                                                   const std::string& key) const {
  const auto item = items.find(key_key(key));
  if (item == items.end()) return std::optional<DynamoOwned>();
  AttributeReader reader(item->second);
  if (!reader.has("seqd_number") && !reader.has("seqd_period")) return std::optional<DynamoOwned>();
  DynamoOwned owned{reader.text("seqd_period"), reader.number("seqd_number")};
  if (!reader.wrong().empty()) return by_hand(item->first, reader.wrong());
  return std::optional(std::move(owned));
}

Result<NumberRecord> DynamoRegisterItems::read_number(const DynamoItem& item,
                                                      const DynamoOwned& which, bool closed) const {
  AttributeReader reader(item);
  NumberRecord record;
  record.period = which.period;
  record.number = which.number;
  const auto state = state_of_word(reader.text("seqd_state"));
  if (!state) reader.refuse("seqd_state", "it is no state of a number");
  record.state = state.value_or(NumberState::voided);
  const bool has_key =
      record.state == NumberState::assigned || record.state == NumberState::confirmed;
  if (has_key) record.key = reader.text("seqd_key");
  if (has_key != reader.has("seqd_key"))
    reader.refuse("seqd_key", "a number that is void or free has none");
  record.text = reader.text("seqd_text");
  record.assigned = reader.stamp("seqd_assigned");
  if (record.state == NumberState::confirmed) record.confirmed = reader.stamp("seqd_confirmed");
  read_former(reader, item, record);
  if (!reader.wrong().empty())
    return by_hand(number_key(which.period, which.number), reader.wrong());
  if (closed && record.state == NumberState::free) record.state = NumberState::voided;
  return record;
}

}  // namespace seqd
