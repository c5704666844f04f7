#include "daemon/store/dynamo_parked.h"

#include <limits>

namespace seqd {
namespace {

constexpr char kReturned[] = "seqd_returned:";

std::int64_t integer_of(const DynamoValue& value, const char* name) {
  const auto found = value.members.find(name);
  return found == value.members.end() ? 0 : dynamo_integer(found->second).value_or(0);
}

std::optional<LeasedSpan> span_of(const DynamoValue& value) {
  const LeasedSpan span{integer_of(value, "begin"), integer_of(value, "end")};
  if (span.begin < 1 || span.begin >= span.end) return std::nullopt;
  return span;
}

}  // namespace

std::optional<DynamoParked> lowest_parked(const DynamoItem& item) {
  std::optional<DynamoParked> lowest;
  for (const auto& [name, value] : item) {
    if (!name.starts_with(kReturned)) continue;
    const std::optional<LeasedSpan> span = span_of(value);
    if (span && (!lowest || span->begin < lowest->span.begin)) lowest = {name, *span};
  }
  return lowest;
}

std::vector<std::string> parked_below(const DynamoItem& item, std::int64_t floor) {
  std::vector<std::string> names;
  for (const auto& [name, value] : item) {
    const std::optional<LeasedSpan> span =
        name.starts_with(kReturned) ? span_of(value) : std::nullopt;
    if (span && span->begin < floor) names.push_back(name);
  }
  return names;
}

CounterReading::Parked count_parked(const DynamoItem& item) {
  CounterReading::Parked sum;
  for (const auto& [name, value] : item) {
    const std::optional<LeasedSpan> span =
        name.starts_with(kReturned) ? span_of(value) : std::nullopt;
    if (!span) continue;
    ++sum.ranges;
    sum.ids += span->end - span->begin;
  }
  return sum;
}

void put_parked(DynamoUpdate& update, const Token& token, LeasedSpan span) {
  update.set(kReturned + to_hex(token),
             dynamo_map({{"begin", dynamo_number(span.begin)}, {"end", dynamo_number(span.end)}}));
}

void require_above(DynamoUpdate& update, const CounterBinding& binding, Meaning meaning,
                   std::int64_t end) {
  update.require_between(binding.counter_field, value_of(end - 1, meaning),
                         std::numeric_limits<std::int64_t>::max());
  require_meaning(update, meaning, binding.meaning != Meaning::unset);
}

}  // namespace seqd
