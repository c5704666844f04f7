#include "daemon/store/dynamo/lease/dynamo_counter.h"

#include <fmt/format.h>

namespace seqd {
namespace {

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
  if (const auto number = item.find(binding.counter_field);
      number != item.end() && number->second.kind == DynamoScalar::Kind::text &&
      number->second.text == kDynamoRegisterMark)
    return Status(ErrorCode::WRONG_MODE,
                  fmt::format("{} belongs to a register, whose numbers have keys: lease from a "
                              "counter of another name (sequence.key)",
                              where));
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
