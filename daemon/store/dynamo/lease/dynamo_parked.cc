#include "daemon/store/dynamo/lease/dynamo_parked.h"

#include <limits>

namespace seqd {
namespace {

constexpr char kReturned[] = "seqd_returned:";

std::int64_t integer_of(const DynamoValue& value, const char* name) {
  const auto found = value.members.find(name);
  return found == value.members.end() ? 0 : dynamo_integer(found->second).value_or(0);
}

// What is parked there of the counter.
std::optional<LeasedSpan> span_in(const std::string& name, const DynamoValue& value,
                                  const CounterBinding& binding) {
  if (!name.starts_with(kReturned)) return std::nullopt;
  const auto field = value.members.find("field");
  const bool of_counter = field != value.members.end() &&
                          field->second.kind == DynamoScalar::Kind::text &&
                          field->second.text == binding.counter_field;
  if (!of_counter) return std::nullopt;
  const LeasedSpan span{integer_of(value, "begin"), integer_of(value, "end")};
  if (span.begin < 1 || span.begin >= span.end) return std::nullopt;
  return span;
}

}  // namespace

std::optional<DynamoParked> lowest_parked(const DynamoItem& item, const CounterBinding& binding) {
  std::optional<DynamoParked> lowest;
  for (const auto& [name, value] : item) {
    const std::optional<LeasedSpan> span = span_in(name, value, binding);
    if (span && (!lowest || span->begin < lowest->span.begin)) lowest = {name, *span};
  }
  return lowest;
}

std::vector<std::string> parked_below(const DynamoItem& item, const CounterBinding& binding,
                                      std::int64_t floor) {
  std::vector<std::string> names;
  for (const auto& [name, value] : item) {
    const std::optional<LeasedSpan> span = span_in(name, value, binding);
    if (span && span->begin < floor) names.push_back(name);
  }
  return names;
}

CounterReading::Parked count_parked(const DynamoItem& item, const CounterBinding& binding) {
  CounterReading::Parked sum;
  for (const auto& [name, value] : item) {
    const std::optional<LeasedSpan> span = span_in(name, value, binding);
    if (!span) continue;
    ++sum.ranges;
    sum.ids += span->end - span->begin;
  }
  return sum;
}

void put_parked(DynamoUpdate& update, const ReturnRequest& request) {
  update.set(kReturned + to_hex(request.token),
             dynamo_map({{"begin", dynamo_number(request.begin)},
                         {"end", dynamo_number(request.end)},
                         {"field", dynamo_text(request.binding.counter_field)}}));
}

void require_above(DynamoUpdate& update, const CounterBinding& binding, Meaning meaning,
                   std::int64_t end) {
  update.require_between(binding.counter_field, value_of(end - 1, meaning),
                         std::numeric_limits<std::int64_t>::max());
  require_meaning(update, binding, meaning, binding.meaning != Meaning::unset);
}

}  // namespace seqd
