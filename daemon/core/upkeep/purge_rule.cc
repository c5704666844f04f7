#include "daemon/core/upkeep/purge_rule.h"

#include <algorithm>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

std::string_view without_zeros(std::string_view digits) {
  if (digits.empty()) return digits;
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

bool is_plain_number(std::string_view key) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !key.empty() && std::all_of(key.begin(), key.end(), is_digit) && without_zeros(key) == key;
}

}  // namespace

KeyForm key_form(const SequenceSettings& settings, std::string_view base) {
  ASSERT(settings.periods.rule != nullptr);
  const std::string& pattern = settings.binding.key;
  KeyForm form;
  form.period = settings.periods.rule->at(0).text.size();
  if (pattern.empty()) {
    form.before = period_sequence(base, "");
    return form;
  }
  const std::size_t place = pattern.find(kPeriodPlaceholder);
  form.before = pattern.substr(0, place);
  form.behind = pattern.substr(place + kPeriodPlaceholder.size());
  return form;
}

std::optional<Period> period_of_key(const SequenceSettings& settings, std::string_view base,
                                    std::string_view key) {
  const KeyForm form = key_form(settings, base);
  std::string written(key);
  if (settings.binding.key_type == KeyType::integer) {
    if (!is_plain_number(key)) return std::nullopt;
    if (written.size() < form.length()) written.insert(0, form.length() - written.size(), '0');
  }
  if (written.size() != form.length() || !written.starts_with(form.before) ||
      !written.ends_with(form.behind))
    return std::nullopt;
  return settings.periods.rule->written(
      std::string_view(written).substr(form.before.size(), form.period));
}

// Compared with the beginning of the present period, not with the present moment: the state
// directory knows the latest time only by its period.
bool may_be_removed(const PeriodSettings& periods, const Period& period, std::int64_t now_s) {
  if (periods.retain_ms <= 0) return false;
  const std::int64_t retain_s = (periods.retain_ms + 999) / 1'000;
  return period.end_s + retain_s <= periods.rule->at(now_s).begin_s;
}

std::string plain_key(KeyType type, std::string_view key) {
  return std::string(type == KeyType::integer ? without_zeros(key) : key);
}

}  // namespace seqd
