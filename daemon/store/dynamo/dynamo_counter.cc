#include "daemon/store/dynamo/dynamo_counter.h"

#include <fmt/format.h>

#include <algorithm>

namespace seqd {
namespace {

Status bad_name(const std::string& what, const std::string& name, const char* rule) {
  return {ErrorCode::CONFIG,
          fmt::format("DynamoDB: {} \"{}\": {}", what, name.substr(0, 300), rule)};
}

bool is_table_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string description(const DynamoItem& item, const std::string& name) {
  const auto found = item.find(name);
  if (found == item.end()) return "nothing";
  const DynamoValue& value = found->second;
  const std::string shown = value.text.substr(0, 60);
  if (value.kind == DynamoScalar::Kind::number) return "the number " + shown;
  if (value.kind == DynamoScalar::Kind::text) return "the text \"" + shown + "\"";
  return "a value of type " + shown;
}

}  // namespace

Status check_table_name(const std::string& what, const std::string& name) {
  const bool good = name.size() >= 3 && name.size() <= 255 &&
                    std::all_of(name.begin(), name.end(), is_table_letter);
  if (good) return {};
  return bad_name(what, name, "allowed are 3 to 255 of A-Z a-z 0-9 _ . -");
}

Status check_attribute_name(const std::string& what, const std::string& name) {
  if (name.empty() || name.size() > 255 || !is_json_text(name))
    return bad_name(what, is_json_text(name) ? name : "?", "allowed are 1 to 255 bytes of UTF-8");
  if (name.starts_with(kDynamoOurs))
    return bad_name(what, name,
                    "attributes that begin with \"seqd_\" hold seqd's own marks; use another");
  return {};
}

Status check_dynamo_binding(const CounterBinding& binding) {
  if (Status status = check_table_name("collection", binding.collection); !status.ok())
    return status;
  if (Status status = check_attribute_name("key_field", binding.key_field); !status.ok())
    return status;
  if (Status status = check_attribute_name("counter_field", binding.counter_field); !status.ok())
    return status;
  if (binding.counter_field == binding.key_field)
    return bad_name("counter_field", binding.counter_field, "must not be the key's attribute");
  if (binding.key.size() > 1024 || !is_json_text(binding.key))
    return bad_name("key", is_json_text(binding.key) ? binding.key : "?",
                    "allowed are at most 1,024 bytes of UTF-8");
  return {};
}

DynamoKey dynamo_key_of(const CounterBinding& binding) {
  return {binding.collection, binding.key_field, binding.key};
}

std::string dynamo_meaning_of(const CounterBinding& binding) {
  return "seqd_meaning:" + binding.counter_field;
}

std::string dynamo_floor_of(const CounterBinding& binding) {
  return "seqd_floor:" + binding.counter_field;
}

void require_meaning(DynamoUpdate& update, const CounterBinding& binding, Meaning meaning,
                     bool or_unmarked) {
  const std::string mark = dynamo_meaning_of(binding);
  const DynamoValue word = dynamo_text(meaning_word(meaning));
  if (or_unmarked) {
    update.require_equal_or_missing(mark, word);
  } else {
    update.require_equal(mark, word);
  }
}

DynamoUpdate dynamo_creation(const CounterBinding& binding, std::int64_t next_id) {
  const Meaning meaning = meaning_of_new(binding);
  DynamoUpdate update(dynamo_key_of(binding));
  update.require_missing(binding.key_field)
      .set(binding.counter_field, dynamo_number(value_of(next_id - 1, meaning)))
      .set(dynamo_meaning_of(binding), dynamo_text(meaning_word(meaning)));
  return update;
}

Result<DynamoCounterState> state_of(const DynamoItem& item, const CounterBinding& binding,
                                    const std::string& where) {
  DynamoCounterState state;
  Meaning mark = Meaning::unset;
  const std::string mark_name = dynamo_meaning_of(binding);
  if (const auto found = item.find(mark_name); found != item.end()) {
    for (const Meaning meaning : {Meaning::last, Meaning::next})
      if (found->second.text == meaning_word(meaning)) mark = meaning;
    if (mark == Meaning::unset || found->second.kind != DynamoScalar::Kind::text)
      return Status(ErrorCode::SEQ_MEANING,
                    fmt::format("{}: attribute {} holds {}; \"last\" or \"next\" is needed", where,
                                mark_name, description(item, mark_name)));
    state.marked = true;
  }
  auto agreed = agreed_meaning(binding.meaning, mark, where);
  if (!agreed.ok()) return agreed.status();
  state.meaning = *agreed;
  const std::int64_t lowest = lowest_value(*agreed);
  const auto number = item.find(binding.counter_field);
  const std::optional<std::int64_t> value =
      number == item.end() ? std::nullopt : dynamo_integer(number->second);
  if (!value || *value < lowest)
    return Status(ErrorCode::SEQ_TYPE,
                  fmt::format("{}: attribute {} holds {}; an integer (N) of at least {} is needed. "
                              "Correct it in the store",
                              where, binding.counter_field,
                              description(item, binding.counter_field), lowest));
  state.value = *value;
  if (const auto kept = item.find(dynamo_floor_of(binding)); kept != item.end()) {
    const auto floor = floor_of(dynamo_integer(kept->second), where);
    if (!floor.ok()) return floor.status();
    state.floor = *floor;
  }
  return state;
}

}  // namespace seqd
